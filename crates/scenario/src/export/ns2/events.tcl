
# Sets the bandwidth in bit/s.
proc bandwidth {from to bandwidth} {
    global links id
    [$links($id($from):$id($to)) link] set bandwidth_ $bandwidth
}

# Sets the delay in seconds of packets transmitted from now on.
proc delay {from to delay} {
    global links id
    [$links($id($from):$id($to)) link] set delay_ $delay
}

# Declares a link that `down` and `up` can change.
proc breakable {from to} {
    global links id gates
    set link $links($id($from):$id($to))
    set gate [make DynamicLink status_ 1]
    $link add-to-head $gate
    $gate drop-target [$link set drophead_]
    set gates($id($from):$id($to)) $gate
}

# Drops queued and arriving packets; packets in flight on the link arrive.
proc down {from to} {
    global links id gates
    $gates($id($from):$id($to)) set status_ 0
    [$links($id($from):$id($to)) queue] reset
}

proc up {from to} {
    global id gates
    $gates($id($from):$id($to)) set status_ 1
}

# The connection has no path: its packets are lost at the sender.
proc no-route {connection from to} {
    global ns id flow routes
    set slot [$routes($id($from)) installNext [$ns set nullAgent_]]
    $routes($id($from)) set-hash auto $id($from) $id($to) $flow($connection) $slot
}
