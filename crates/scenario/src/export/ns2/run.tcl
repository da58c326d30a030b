
# ---- statistics, written every $every seconds

# A field of a CSV file, quoted where it must be.
proc csv {field} {
    if {![regexp {[",\r\n]} $field]} { return $field }
    return "\"[string map {\" \"\"} $field]\""
}

foreach link $link_list {
    set monitors($link) [$links($link) init-monitor $ns {} 0]
}

# Statistics of every link since the last call.
proc report-links {now length} {
    global link_list link_names monitors link_file
    foreach link $link_list {
        set monitor $monitors($link)
        # The integral is that of the last arrival or departure; this brings it up to now.
        set waiting [$monitor get-pkts-integrator]
        $waiting newpoint $now [$monitor set pkts_]
        set row [list [format %.9g $now] [csv $link_names($link)]]
        foreach counter {parrivals_ pdrops_ pdepartures_ bdepartures_} {
            # Counters are 32 bits, with a sign.
            lappend row [expr {[$monitor set $counter] & 0xffffffff}]
            $monitor set $counter 0
        }
        lappend row [format %.7g [expr {[$waiting set sum_] / $length}]]
        $waiting set sum_ 0
        puts $link_file [join $row ,]
    }
}

# Statistics of every connection since the last call.
proc report-connections {now} {
    global connection_names before connection_file
    foreach name $connection_names {
        set row [list [format %.9g $now] [csv $name]]
        set totals [totals $name]
        foreach total $totals last $before($name) { lappend row [expr {$total - $last}] }
        set before($name) $totals
        puts $connection_file [join $row ,]
    }
}

# Packets sent, acknowledged (of UDP: received) and sent again, and timeouts, from the start.
proc totals {name} {
    global senders receivers sent
    set sum {0 0 0 0}
    if {[info exists receivers($name)]} {
        lset sum 0 [expr {[$sent($name) set parrivals_] & 0xffffffff}]
        foreach receiver $receivers($name) {
            lset sum 1 [expr {[lindex $sum 1] + [$receiver set npkts_]}]
        }
        return $sum
    }
    foreach sender $senders($name) {
        # Packet 0 is the SYN, which carries nothing; Vegas has none.
        set acked [expr {[$sender set ack_] + ([$sender info class] eq "Agent/TCP/Vegas")}]
        lset sum 0 [expr {[lindex $sum 0] + [$sender set ndatapack_]}]
        lset sum 1 [expr {[lindex $sum 1] + max($acked, 0)}]
        lset sum 2 [expr {[lindex $sum 2] + [$sender set nrexmitpack_]}]
        lset sum 3 [expr {[lindex $sum 3] + [$sender set nrexmit_]}]
    }
    return $sum
}

# Writes the interval that ends now, and schedules the next call.
proc report {number last} {
    global ns every duration
    set now [$ns now]
    report-links $now [expr {$now - $last}]
    report-connections $now
    if {$now >= $duration} finish
    $ns at [end-of-interval [expr {$number + 1}]] [list report [expr {$number + 1}] $now]
}

# The last interval may be shorter, unless the rest is only a rounding error.
proc end-of-interval {number} {
    global every duration
    set end [expr {$number * $every}]
    return [expr {$end > $duration - 1e-6 * $every ? $duration : $end}]
}

proc finish {} {
    global ns link_file connection_file trace
    close $link_file
    close $connection_file
    if {[info exists trace]} {
        $ns flush-trace
        close $trace
    }
    exit 0
}

# ---- run

foreach name $connection_names { set before($name) {0 0 0 0} }
set link_file [create [file join $directory ns-links.csv]]
puts $link_file $link_columns
set connection_file [create [file join $directory ns-connections.csv]]
puts $connection_file $connection_columns
$ns at [end-of-interval 1] {report 1 0.0}
$ns run
