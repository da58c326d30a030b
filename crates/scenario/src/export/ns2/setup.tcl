# ---- commands that describe a network; the network itself is below

if {$argc > 3} {
    puts stderr "usage: ns SCRIPT \[SEED \[DIRECTORY \[TRACE\]\]\]"
    exit 2
}
foreach {argument default} [list seed $seed directory . trace_file {}] value [lrange $argv 0 2] {
    set $argument [expr {$value eq "" ? $default : $value}]
}
if {![string is integer -strict $seed] || $seed < 1 || $seed > 2147483646} {
    puts stderr "the seed must be a whole number from 1 to 2147483646, not $seed"
    exit 2
}

file mkdir $directory

# Queues, `overhead_` and Poisson sources draw from ns's default stream; starts from one of their
# own. The generator is linear: what seed 2 gives is twice what seed 1 gives (modulo 1), and so on,
# so that the starts of neighbouring seeds would be much alike if theirs were not far apart.
$defaultRNG seed $seed
set start_numbers [new RNG]
$start_numbers seed [expr {1 + (48271 * wide($seed) + 11) % 2147483645}]

# Packets carry these headers only: it is the same run, in less time.
remove-all-packet-headers
add-packet-header Flags IP TCP RTP

set ns [new Simulator]
$ns rtproto Manual
Agent/TCP set overhead_ $overhead

set node_names {}
set link_list {}
set connection_names {}

# A new file. Names are the bytes they are: nothing is recoded.
proc create {path} {
    set file [open $path w]
    fconfigure $file -encoding iso8859-1 -translation lf
    return $file
}

# A node; ns numbers them from 0 in this order.
proc node {name} {
    global id node_names
    set id($name) [new-node]
    lappend node_names $name
}

# Routes are by connection, as two of them may part at a node: a packet's source, destination and
# flow id say where it goes. What has no such route is for an agent at this node.
proc new-node {} {
    global ns nodes routes
    set node [$ns node]
    set classifier [new Classifier/Hash/SrcDestFid 32]
    $classifier set mask_ [AddrParams NodeMask 1]
    $classifier set shift_ [AddrParams NodeShift 1]
    $classifier set default_ [$classifier installNext [$node entry]]
    $node insert-entry {} $classifier
    set nodes([$node id]) $node
    set routes([$node id]) $classifier
    return [$node id]
}

# A directed link: bit/s, propagation delay in s, ns's queue and its variables.
proc link {from to bandwidth delay queue} {
    global id link_list link_names
    new-link $id($from) $id($to) $bandwidth $delay $queue
    lappend link_list $id($from):$id($to)
    set link_names($id($from):$id($to)) "$from->$to"
}

proc new-link {from to bandwidth delay queue} {
    global ns nodes routes links slots
    $ns simplex-link $nodes($from) $nodes($to) $bandwidth $delay [lindex $queue 0]
    set link [$ns link $nodes($from) $nodes($to)]
    foreach {variable value} [lrange $queue 1 end] {
        [$link queue] set $variable $value
    }
    set links($from:$to) $link
    set slots($from:$to) [$routes($from) installNext [$link head]]
}

# Routes packets of a connection along the nodes of a path.
proc route {connection way} {
    global id flow routes slots
    set ends [list $id([lindex $way 0]) $id([lindex $way end])]
    foreach here [lrange $way 0 end-1] next [lrange $way 1 end] {
        set here $id($here)
        $routes($here) set-hash auto {*}$ends $flow($connection) $slots($here:$id($next))
    }
}

# An object of ns with its variables.
proc make {class args} {
    set object [new $class]
    foreach {variable value} $args { $object set $variable $value }
    return $object
}

# Identical TCP connections.
proc tcp {name from to agent sink options} {
    set flow [connection $name]
    set options [dict merge {count 1 application Application/FTP} $options]
    for {set i 0} {$i < [dict get $options count]} {incr i} {
        set sender [make {*}$agent fid_ $flow]
        attach $sender $from [make {*}$sink] $to
        if {[dict exists $options control]} {
            global ns
            $ns at 0 [list $sender select_ca [dict get $options control]]
        }
        global senders
        lappend senders($name) $sender
        schedule [make {*}[dict get $options application]] $sender $options
    }
}

# Unresponsive sources.
proc udp {name from to application options} {
    global receivers sent
    set flow [connection $name]
    set options [dict merge {count 1} $options]
    set sent($name) [new QueueMonitor]
    for {set i 0} {$i < [dict get $options count]} {incr i} {
        set source [make {*}$application]
        set sender [make Agent/UDP fid_ $flow packetSize_ [$source set packetSize_]]
        set receiver [new Agent/LossMonitor]
        attach $sender $from $receiver $to
        set counter [new SnoopQueue/In]
        $counter set-monitor $sent($name)
        $counter target [$sender target]
        $sender target $counter
        lappend receivers($name) $receiver
        schedule $source $sender $options
    }
}

# A connection's flow id is its place in this file, from 1.
proc connection {name} {
    global flow connection_names
    lappend connection_names $name
    set flow($name) [llength $connection_names]
}

proc attach {sender from receiver to} {
    global ns nodes id
    $ns attach-agent $nodes($id($from)) $sender
    $ns attach-agent $nodes($id($to)) $receiver
    $ns connect $sender $receiver
}

proc schedule {application agent options} {
    global ns start_numbers start_jitter
    $application attach-agent $agent
    set start [expr {[dict get $options start] + [$start_numbers uniform 0 $start_jitter]}]
    if {[dict exists $options stop]} {
        if {[dict get $options stop] <= $start} return
        $ns at [dict get $options stop] [list stop $application $agent]
    }
    if {[dict exists $options size]} {
        $ns at $start [list $application produce [dict get $options size]]
    } else {
        $ns at $start [list $application start]
    }
}

# Stops new packets; TCP still retransmits lost packets.
proc stop {application agent} {
    $application stop
    if {[string match Agent/TCP* [$agent info class]]} {
        $agent advance 0
        $agent close
    }
}
