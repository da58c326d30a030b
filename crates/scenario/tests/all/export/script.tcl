# The scenario lab.toml for ns-2.35, written by `netflow export --to ns2`.
#
#   ns SCRIPT [SEED [DIRECTORY [TRACE]]]
#
# writes ns-links.csv and ns-connections.csv into the directory (default: this one).
#
# Not quite as in the scenario:
# - acknowledgements that are no traffic (1 of the connections) do not wait in any queue
# - when a link's loss changes, it is the new one for packets that are on the way over it, too
# - when a link's delay changes, the packet that is being transmitted keeps the one before
# - acknowledgements that are no traffic take as long after changes of delays as before

set seed 1
set duration 60         ;# s
set every 0.5           ;# s, the intervals of the files
set start_jitter 0      ;# s; connections start up to this much later, at random
set overhead 0          ;# s; TCP waits up to this before it sends a packet, at random
set link_columns time_s,link,arrived_pkts,dropped_pkts,departed_pkts,departed_bytes,waiting_pkts
set connection_columns time_s,connection,sent_pkts,acked_pkts,retransmitted_pkts,timeouts

# …

# ---- nodes

node A
node R
node "new york"

# ---- links; a queue's limit is what its buffer holds, the packet in service included
# (RED does not count that packet)

# from          to         bit/s    delay s queue
link A          R          10000000 0.005   {DropTail limit_ 96}
link R          A          10000000 0.005   {DropTail limit_ 96}
link R          "new york" 1500000  0.03    {DropTail limit_ 24001 queue_in_bytes_ true mean_pktsize_ 1}
link "new york" R          1500000  0.03    {RED limit_ 79 thresh_ 10 maxthresh_ 40 linterm_ 10 q_weight_ 0.002 gentle_ true mean_pktsize_ 40 bytes_ false queue_in_bytes_ false adaptive_ 0}

# ---- what links lose on the way, after the queue

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

# It is lost at this rate from now on.
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

# ---- what happens on the way

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
