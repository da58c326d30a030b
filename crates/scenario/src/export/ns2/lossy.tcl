
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

# Sets the loss rate.
proc loses {from to unit rate} {
    global id lossy
    $lossy($id($from):$id($to):$unit) set rate_ $rate
}
