//! Texts of the page.

pub const INTRODUCTION: &str = "# Models of short transfers compared with ns-2 and Linux

This study compares five models of the duration of a short TCP transfer with measurements. Packets are lost at random in
both directions. 168 kinds of transfer were measured in ns-2.35, and 144 between two hosts with Linux 6.18.

```sh
cargo run --release -p study-short-transfers
```

writes this page in about a minute on two threads. The measurements are in `tests/reference/ns2/short/short.csv` and
`tests/reference/linux/short_all.csv`.

## Measurements

- **ns-2.35** (Debian 2.35+dfsg-5), `FullTcp`, 1000 repetitions of each kind. The end that opens the connection sends 3,
  10 or 30 KiB in segments of 512 or 1460 B over 10 Mbit/s. The one-way delay is 10 or 100 ms, and the window 64. The
  receiver acknowledges every segment or every second segment. Every packet (SYN, data, ACK) is lost independently with
  the same probability. Times begin with the first SYN. They end when the last byte has arrived in order (*delivered*),
  or when the sender has its acknowledgement (*acknowledged*).
- **Linux 6.18**, 200 repetitions of each kind. An emulated link in user space connects two network namespaces. Its
  one-way delay is 10, 50 or 100 ms, with the same independent loss in both directions. A client connects, sends a
  request of 200 B and receives a reply of 3, 10 or 30 KB. Times are from `connect` until the client has the reply.
- Means of 200 repetitions have random errors of 5–30 %, because timeouts double: a single transfer of a minute changes
  the mean. 18 of 162 rows were measured while the host was overloaded, and are left out.
- Linux has three configurations. Two have the defaults (CUBIC, SACK, RACK, tail loss probes, initial window 10), with
  segments of 1460 and 512 B. The third has Reno without SACK, RACK and probes, an initial window of 2, and 512 B. It
  probably had no timestamps: only without them does Linux wait 3 s for a packet lost after a lost SYN, as measured.

## Models

- **Simulated**: `netflow latency --model rounds` with 100 000 transfers of each kind. It simulates every packet by the
  rules of the stack (`ns-2.35`, `linux-6`) and the configuration. Nothing was fitted to these measurements. For Linux
  the rules were tested with transfers that lose chosen packets only, with and without SACK.
- **\\[Short\\]**: Zhang, Wang & Keshav, solved exactly, with the timers, initial window and acknowledgements of the
  measured stack. Its mean includes the return path of the last acknowledgement.
- **Model C** low and high, and **\\[CSA\\]** (Cardwell, Savage & Anderson 2000). Low uses the loss of one direction. High
  and \\[CSA\\] use the probability that a packet or its acknowledgement is lost.
";

pub const READING: &str = "
- *Error*: mean over the rows of |model − measured| / measured.
- *Random error*: this error for a perfect model, from the standard errors of the measured means alone.
- *χ² per row*: mean square of the error in standard errors, over rows with loss. It is 1 for a perfect model.

The simulation is as close to both implementations as the measurements can show, with one exception: the acknowledgement
of a single short segment in ns-2.
";

pub const MODELS: &str = "- **Simulated** times of *delivery* are accurate in both implementations at all losses, within the random error. Without
  loss, where a transfer takes whole RTTs, they are within 1 %. The remaining error is the lateness of real timers and
  of the emulated link.
- **Simulated** times of *acknowledgement* in ns-2 are inaccurate if the last segment is not full (segments of 1460 B).
  This acknowledgement waits for the next tick of the clock of ns-2, every 100 ms. In the measurements every transfer
  began on a tick. The simulation begins at a random time, as real transfers do. Use the times of delivery there.
- **\\[Short\\]** is within 40 % without loss if no acknowledgement is delayed. Its rounds are not whole, and its
  handshake takes half an RTT longer than data waits. With a loss of 1 % it is too slow by 30 % (ns-2) and 70 % (Linux)
  on average. At 5 % it is too slow by a factor of 2 to 3. Do not use it above 10 %. Every lost packet or
  acknowledgement costs a timeout in this model, and the timer stays doubled. In fact the next acknowledgement replaces
  most lost ones, and many lost packets are repaired within one RTT. The model is for Linux 2.0.34, which was not
  measured here.
- **Model C low** is the best formula. For ns-2 its error is 11–18 % up to a loss of 10 %. Above, it is too fast,
  because timeouts double. For Linux it is too slow, and with the defaults twice as long at any loss, because it begins
  with a window of one segment.
- **Model C high** counts lost acknowledgements as lost data, and is worse in all cases. It is up to twice as long as
  ns-2, and up to five times as long as Linux.
- **\\[CSA\\]** has the same loss and is similar to Model C high. It is slightly better from a loss of 5 %.
- No model includes queues, other traffic or correlated losses.

Errors of the means, and of the simulated medians:
";

pub const ROWS: &str = "Times are in seconds. ± is the standard error of the measured mean. Values of models are followed by their errors. The
formulas are compared with the acknowledged time where it was measured. A dash means that the model has no value: Model
C and \\[CSA\\] need a loss below 50 %.
";
