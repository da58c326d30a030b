# One flow on its own 10 Gbit/s path with random losses of data, for whoever appends what to do with it.
# Arguments: agent, sink, window, loss, round-trip time in ms, packets, seed.
foreach {agent sink window loss rtt_ms packets seed} $argv {}
ns-random $seed
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns duplex-link $a $b 10000Mb [expr $rtt_ms / 2.0]ms DropTail
$ns queue-limit $a $b 1000000
$ns queue-limit $b $a 1000000
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
$errors ranvar [new RandomVariable/Uniform]
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $a $b
set tcp [new $agent]
$tcp set packetSize_ 960
$tcp set window_ $window
set sink [new $sink]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"
