# scenarios/hundred-nodes in ns-2, for the run-time comparison of `cargo bench --bench scale`:
#   ns benches/hundred-nodes.tcl [seed]
# Static routing by hop count; prints packets acknowledged over all connections.

proc rows {file} {
    set in [open $file]
    set lines [lsearch -all -inline -not -glob [split [string trim [read $in]] \n] "#*"]
    close $in
    set names [split [lindex $lines 0] ,]
    set out {}
    foreach line [lrange $lines 1 end] {
        set row {}
        foreach name $names value [split $line ,] { dict set row $name $value }
        lappend out $row
    }
    return $out
}

proc number {quantity} { return [lindex $quantity 0] }

set here [file join [file dirname [info script]] .. scenarios hundred-nodes]
set seed [expr {$argc > 0 ? [lindex $argv 0] : 1}]
ns-random $seed
set ns [new Simulator]

for {set i 0} {$i < 30} {incr i} { set node(R$i) [$ns node] }
for {set i 0} {$i < 70} {incr i} { set node(H$i) [$ns node] }
foreach row [rows [file join $here links.csv]] {
    dict with row {
        $ns duplex-link $node($from) $node($to) [number $bandwidth]Mb [number $delay]ms DropTail
        $ns queue-limit $node($from) $node($to) [number $buffer]
        $ns queue-limit $node($to) $node($from) [number $buffer]
    }
}

set agents {}
foreach row [rows [file join $here connections.csv]] {
    dict with row {
        set tcp [new Agent/TCP/Reno]
        set sink [new Agent/TCPSink]
        $tcp set packetSize_ 960
        $tcp set window_ [number ${max-window}]
        $ns attach-agent $node($from) $tcp
        $ns attach-agent $node($to) $sink
        $ns connect $tcp $sink
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp
        $ns at [expr {[number $start] + 0.5 * rand()}] "$ftp start"
        $ns at [number $stop] "$ftp stop"
        lappend agents $tcp
    }
}

$ns at 100.0 finish
proc finish {} {
    global agents
    set acknowledged 0
    foreach tcp $agents { incr acknowledged [expr {max(0, [$tcp set ack_])}] }
    puts "acknowledged $acknowledged"
    exit 0
}
$ns run
