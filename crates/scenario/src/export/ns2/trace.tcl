
# Traces the packets of a link.
proc trace-packets {from to} {
    global ns nodes id trace
    $ns trace-queue $nodes($id($from)) $nodes($id($to)) $trace
}

# The trace begins with the names of its nodes.
proc open-trace {} {
    global trace trace_file directory node_names
    if {$trace_file eq ""} { set trace_file [file join $directory ns-trace.tr] }
    set trace [create $trace_file]
    set number 0
    foreach name $node_names {
        puts $trace "# netflow node $number [string map {\\ \\\\ \n \\n \r \\r} $name]"
        incr number
    }
}
