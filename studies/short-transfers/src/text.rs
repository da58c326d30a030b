//! Texts of the page.

pub const INTRODUCTION: &str = "# Models of short transfers against ns-2 and Linux

How long a short TCP transfer takes when packets are lost at random, each way: 168 kinds of transfer
measured in ns-2.35 and 144 between two ends of Linux 6.18, beside what five models say of each. This
page is written by

```sh
cargo run --release -p study-short-transfers
```

which takes about a minute on two threads and needs nothing else: what was measured is in
`tests/reference/ns2/short/short.csv` and `tests/reference/linux/short_all.csv`.

What was measured:

- **ns-2.35** (Debian 2.35+dfsg-5): `FullTcp`, the end that opens the connection sends 3, 10 or 30 KiB
  in segments of 512 or 1460 B over 10 Mbit/s, 10 or 100 ms each way, window 64, with an
  acknowledgement for every segment or for every two. Every packet (SYN, data, acknowledgement) is
  lost with the same probability, independently. 1000 repetitions of each. From the first SYN until
  the last byte has *arrived* in order, and until the sender knows: *acknowledged*.
- **Linux 6.18**: two network namespaces joined by an emulated link in user space (10, 50 or 100 ms
  each way, the same independent loss both ways). Connect, a request of 200 B, a reply of 3, 10 or
  30 KB; from `connect` until the client has all of it. 200 repetitions of each; means of such samples
  are 5 to 30 % off by luck, since timeouts double: one transfer of a minute moves them. Rows that
  were measured while the host was overloaded are left out (18 of 162). Three set-ups: the defaults
  (CUBIC, SACK, RACK, tail loss probes, initial window 10) with segments of 1460 B and of 512 B, and
  Reno with SACK, RACK and probes off, initial window 2, 512 B. (That one is taken to have had no
  timestamps: only without them does Linux wait 3 s for a packet that is lost after a SYN was, as it
  was measured to do.)

The models:

- **Played**: `netflow latency --model rounds`: 100 000 transfers of each kind, packet by packet, by
  the rules of the stack (`ns-2.35`, `linux-6`) and the set-up. No number in it was fitted to these
  tables: the rules are those of the implementations. For Linux they were checked with transfers that
  lost chosen packets and no others, with and without SACK; those are tests of `netflow-tcpmodel`.
- **\\[Short\\]**: Zhang, Wang & Keshav, exactly solved, with the timers, the initial window and the
  acknowledgements of the measured stack; its mean counts the way of the last acknowledgement.
- **Model C** low and high, and **\\[CSA\\]** (Cardwell, Savage & Anderson 2000): low with the loss of
  one way, high and \\[CSA\\] with the probability that a packet or its acknowledgement is lost.
";

pub const READING: &str = "
- *Error*: the mean over the rows of |model − measured| / measured.
- *Luck alone*: what that would be on average if the model were perfect and only the measured means
  were off by their standard errors.
- *χ² a row*: the mean square of the error in standard errors, over rows with loss; 1 for a perfect
  model.

The played transfers are as close to both implementations as the measurements can tell, but for one
thing: when a single short segment of ns-2 is acknowledged. See below.
";

pub const MODELS: &str = "- **Transfers played packet by packet** are right wherever data is *delivered*, in both
  implementations, at all losses, within luck; and within 1 % without loss, where a transfer takes
  whole round trips (what is left is how late a real timer or the emulated link is).
- They are off where ns-2's sender waits for the *acknowledgement* of a last segment that is not full
  (segments of 1460 B): ns-2 delays that until its clock's next beat, every 100 ms. In the measured
  runs every transfer began on a beat; here transfers begin at any time between two, as they do in
  life. Look at the times of delivery there.
- **\\[Short\\]** is within 40 % without loss where no acknowledgement is delayed: rounds are not whole in
  it, and the handshake takes half a round trip longer than data waits for it. With loss it is too
  slow, and the more the worse: on average by 30 % (ns-2) and 70 % (Linux) at 1 %, 2 to 3 times as long
  at 5 %, and of no use above 10 %. Every packet that is lost, and every acknowledgement, costs it a
  timeout, after which the timer stays doubled; in truth most lost acknowledgements cost nothing, since
  the next one makes up for them, and many lost packets are repaired within a round trip. It was made
  for Linux 2.0.34, which was not measured here.
- **Model C low** (the loss of the data's way only) is the best formula: for ns-2 11 to 18 % off up to
  10 % of loss and too fast above, as timeouts double; for Linux too slow, with its defaults twice as
  long at any loss, since it begins with a window of one segment.
- **Model C high** counts lost acknowledgements as lost data, which makes it worse everywhere: up to
  twice as long as ns-2, up to five times as long as Linux.
- **\\[CSA\\]**, with the same loss, is like Model C high; a little better from 5 % of loss on.
- No model here knows queues, cross traffic, or losses that come in bursts.

Errors of the means, and of the medians of what was played:
";

pub const ROWS: &str = "Times are in seconds; ± is the standard error of the measured mean, and what a model says is followed
by its error. The formulas are compared with the acknowledged time where it was measured. – : the
model has no value (Model C and \\[CSA\\] with a loss of half or more).
";
