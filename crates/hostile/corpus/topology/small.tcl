set ns [new Simulator]
set rate 10Mb
$ns duplex-link $n(0) $n(1) $rate 10ms DropTail
$ns simplex-link $n(1) $sink \
    64k 0.2 RED
$ns queue-limit $n(0) $n(1) 50
proc finish {} { exit 0 }
