
# Acknowledgements that are not traffic: they arrive after this delay, outside the network.
proc beside {connection from to delay} {
    global id flow routes slots
    set hidden [new-node]
    new-link $id($from) $hidden 1e15 0 {DropTail limit_ 1000000}
    new-link $hidden $id($to) 1e15 $delay {DropTail limit_ 1000000}
    foreach {here next} [list $id($from) $hidden $hidden $id($to)] {
        $routes($here) set-hash auto $id($from) $id($to) $flow($connection) $slots($here:$next)
    }
}
