# The scenario lab.toml for ns-2.35, written by `netflow export --to ns2`.
#
#   ns SCRIPT [SEED [DIRECTORY [TRACE]]]
#
# writes ns-links.csv and ns-connections.csv into the directory (default: this one).
#
# Differences from the scenario:
# - acknowledgements that are not traffic (1 connections) do not pass any queue
# - if the loss of a link changes, the new loss also applies to packets in flight on the link
# - if the delay of a link changes, the packet in service keeps the old delay
# - acknowledgements that are not traffic keep their delay after changes of delays

set seed 1
set duration 60         ;# s
set every 0.5           ;# s; interval of the output files
set start_jitter 0      ;# s; largest random delay of the start of connections
set overhead 0          ;# s; largest random delay before TCP sends a packet
set link_columns time_s,link,arrived_pkts,dropped_pkts,departed_pkts,departed_bytes,waiting_pkts
set connection_columns time_s,connection,sent_pkts,acked_pkts,retransmitted_pkts,timeouts

# …

# ---- nodes

node A
node R
node "new york"

# ---- links; the limit of a queue is its buffer size, the packet in service included
# (RED does not count that packet)

# from          to         bit/s    delay s queue
link A          R          10000000 0.005   {DropTail limit_ 96}
link R          A          10000000 0.005   {DropTail limit_ 96}
link R          "new york" 1500000  0.03    {DropTail limit_ 24001 queue_in_bytes_ true mean_pktsize_ 1}
link "new york" R          1500000  0.03    {RED limit_ 79 thresh_ 10 maxthresh_ 40 linterm_ 10 q_weight_ 0.002 gentle_ true mean_pktsize_ 40 bytes_ false queue_in_bytes_ false adaptive_ 0}

# ---- losses after the queue

# Each packet (unit pkt), or each of its bytes (unit byte), is lost at this rate at the end of the link.
proc lossy {from to unit rate} {
    global ns links id lossy
    set delay [$links($id($from):$id($to)) link]
    set errors [new ErrorModel]
    $errors unit $unit
    $errors set rate_ $rate
    $errors ranvar [new RandomVariable/Uniform]
    $errors target [$delay target]
    $errors drop-target [$ns set nullAgent_]
    $delay target $errors
    set lossy($id($from):$id($to):$unit) $errors
}

# Sets the loss rate.
proc loses {from to unit rate} {
    global id lossy
    $lossy($id($from):$id($to):$unit) set rate_ $rate
}

lossy A R pkt 0
lossy A R byte 0

# ---- connections and their routes

tcp web A "new york" {Agent/TCP/Sack1 packetSize_ 960 window_ 64} {Agent/TCPSink/Sack1/DelAck interval_ 0.1} {start 1 stop 50 count 3}
route web {A R "new york"}
route web {"new york" R A}

udp voice A "new york" {Application/Traffic/CBR packetSize_ 200 rate_ 64000 random_ 0} {start 0}
route voice {A R "new york"}

tcp typing A "new york" {Agent/TCP/Linux packetSize_ 960 window_ 10000} Agent/TCPSink/Sack1 {start 0 control cubic application {Application/Traffic/Exponential packetSize_ 960 burst_time_ 0 idle_time_ 0.25 rate_ 1e15}}
route typing {A R "new york"}
beside typing "new york" A 0.03524533333333333

# ---- events

$ns at 20 {bandwidth A R 5000000}
$ns at 20 {loses A R pkt 0.01}
$ns at 20 {loses A R byte 0}
$ns at 25 {loses A R pkt 0}
$ns at 25 {loses A R byte 0.000007999972000056}
$ns at 30 {delay A R 0.08}
$ns at 30 {delay R A 0.08}

# ---- the trace

open-trace
trace-packets R "new york"
