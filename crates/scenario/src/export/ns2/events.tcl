
# The bandwidth in bit/s is this from now on.
proc bandwidth {from to bandwidth} {
    global links id
    [$links($id($from):$id($to)) link] set bandwidth_ $bandwidth
}

# The delay in seconds is this for what is transmitted from now on.
proc delay {from to delay} {
    global links id
    [$links($id($from):$id($to)) link] set delay_ $delay
}

# A link that `down` and `up` work on.
proc breakable {from to} {
    global links id gates
    set link $links($id($from):$id($to))
    set gate [make DynamicLink status_ 1]
    $link add-to-head $gate
    $gate drop-target [$link set drophead_]
    set gates($id($from):$id($to)) $gate
}

# What waits is lost, and what comes; what is on the way over the link arrives.
proc down {from to} {
    global links id gates
    $gates($id($from):$id($to)) set status_ 0
    [$links($id($from):$id($to)) queue] reset
}

proc up {from to} {
    global id gates
    $gates($id($from):$id($to)) set status_ 1
}

# There is no way at present: what the connection sends is lost at its sender.
proc no-route {connection from to} {
    global ns id flow routes
    set slot [$routes($id($from)) installNext [$ns set nullAgent_]]
    $routes($id($from)) set-hash auto $id($from) $id($to) $flow($connection) $slot
}
