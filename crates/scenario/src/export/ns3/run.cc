#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

// A queue: a device's drop-tail queue, or a queue disc. The packet that is being sent is in neither.
struct Waiting {
    std::string disc; // empty: drop-tail
    std::string room; // as ns-3 writes it: "99p", "12000B"
    std::vector<std::pair<std::string, std::string>> settings;
    uint32_t quantum = 0; // bytes of a turn, where flows take turns
};

// What happened at a link since the last interval began.
struct LinkMonitor {
    uint64_t arrived = 0, lost = 0, marked = 0;
    int64_t there = 0;
    bool sending = false;
    double area = 0, busy = 0, since = 0;

    void Settle() {
        double now = Simulator::Now().GetSeconds();
        area += there * (now - since);
        busy += sending ? now - since : 0;
        since = now;
    }
    void Arrive(Ptr<const Packet>) { Settle(); arrived++; there++; }
    void Refuse(Ptr<const Packet>) { Settle(); lost++; there--; }
    void Enqueue(Ptr<const QueueDiscItem>) { Settle(); arrived++; there++; }
    void RefuseItem(Ptr<const QueueDiscItem>, const char *) { arrived++; lost++; }
    void DropItem(Ptr<const QueueDiscItem>, const char *) { Settle(); lost++; there--; }
    void MarkItem(Ptr<const QueueDiscItem>, const char *) { marked++; }
    void Begin(Ptr<const Packet>) { Settle(); sending = true; }
    void End(Ptr<const Packet>) { Settle(); sending = false; there--; }
    void LoseOnTheWay(Ptr<const Packet>) { lost++; }
};

// A device that takes a packet from its queue disc only when it is free, so that none waits behind it.
struct Gate {
    Ptr<NetDeviceQueue> queue;

    void Close(Ptr<const Packet>) { queue->Stop(); }
    // The device is done only after it has told so.
    void Open(Ptr<const Packet>) { Simulator::ScheduleNow(&NetDeviceQueue::Wake, queue); }
};

// A directed link: a channel of its own, of which the far end never sends.
struct Link {
    std::string name;
    Ptr<PointToPointNetDevice> device;
    uint32_t interface; // of the node where it starts
    LinkMonitor monitor;
    double bps, delay, gapBytes; // the gap follows each packet

    // A packet arrives when its gap has ended.
    void Apply() {
        double gap = gapBytes * 8 / bps;
        device->SetDataRate(DataRate(std::llround(bps)));
        device->SetInterframeGap(Seconds(gap));
        device->GetChannel()->SetAttribute("Delay", TimeValue(Seconds(delay + gap)));
    }
};

struct Connection {
    std::string name;
    uint32_t dataBytes; // in a packet
    Ipv4Address to;
    uint64_t sent = 0, received = 0; // packets with data, bytes
};

// Sends as fast as TCP does, from its start on.
struct Transfer {
    Connection *connection;
    Ptr<Node> node;
    Ipv4Address from, to;
    std::string congestion;
    uint32_t initialWindow, largestWindow, room;
    bool ecn;
    uint64_t left; // bytes
    uint32_t number; // of all transfers
    double emptyRtt; // s, without queues
    Ptr<TcpSocketBase> socket;
    uint32_t window = 0;
    bool over = false;

    void Begin() {
        auto tcp = node->GetObject<TcpL4Protocol>();
        socket = DynamicCast<TcpSocketBase>(tcp->CreateSocket(TypeId::LookupByName(congestion)));
        socket->SetCongestionControlAlgorithm(AsInLinux());
        socket->SetAttribute("SegmentSize", UintegerValue(connection->dataBytes));
        socket->SetAttribute("InitialCwnd", UintegerValue(initialWindow));
        socket->SetAttribute("UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
        // What is not acknowledged stays in the buffer, so it is what limits the window.
        if (largestWindow > 0) room = largestWindow * connection->dataBytes;
        socket->SetAttribute("SndBufSize", UintegerValue(room));
        socket->SetAttribute("RcvBufSize", UintegerValue(131072));
        window = initialWindow * connection->dataBytes;
        socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Transfer::Window, this));
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&Transfer::Sent, this));
        socket->SetConnectCallback(MakeCallback(&Transfer::Connected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        socket->SetSendCallback(MakeCallback(&Transfer::CanSend, this));
        socket->Bind(InetSocketAddress(from, 0));
        socket->Connect(InetSocketAddress(to, 9));
    }
    // What its congestion control does otherwise than Linux's and has an attribute for: slow start ends when
    // round trips have grown by an eighth (HyStart), after losses they are not looked at for a second; each
    // sender of BBR has random numbers of its own, and measures bursts of up to 2^20 packets.
    Ptr<TcpCongestionOps> AsInLinux() {
        ObjectFactory factory(congestion);
        if (congestion == "ns3::TcpCubic") {
            TimeValue grown(Seconds(std::min(0.016, std::max(0.004, emptyRtt / 8))));
            factory.Set("HyStartDelayMin", grown);
            factory.Set("HyStartDelayMax", grown);
            factory.Set("CubicDelta", TimeValue(Seconds(1)));
        } else if (congestion == "ns3::TcpBbr") {
            factory.Set("Stream", UintegerValue(1000 + number));
            factory.Set("AckEpochAckedResetThresh", UintegerValue(connection->dataBytes << 20));
        }
        return factory.Create<TcpCongestionOps>();
    }
    void Window(uint32_t, uint32_t bytes) { window = bytes; }
    void Sent(Ptr<const Packet> packet, const TcpHeader &, Ptr<const TcpSocketBase>) {
        connection->sent += packet->GetSize() > 0;
    }
    void Connected(Ptr<Socket>) { Fill(); }
    void CanSend(Ptr<Socket>, uint32_t) { Fill(); }
    // Little more than the window waits in the socket: what waits there when it stops is still sent.
    void Fill() {
        while (!over && left > 0) {
            uint32_t free = socket->GetTxAvailable();
            uint32_t waits = room - std::min(room, free);
            if (free < connection->dataBytes || waits > window + 4 * connection->dataBytes) return;
            uint64_t bytes = std::min<uint64_t>(left, connection->dataBytes);
            if (socket->Send(Create<Packet>(bytes), 0) < 0) return;
            left -= bytes;
            if (left == 0) socket->Close();
        }
    }
    void Stop() {
        over = true;
        if (socket) socket->Close();
    }
};

// Takes what comes, and counts it.
struct Receiver {
    Connection *connection;

    void Accept(Ptr<Socket> socket, const Address &) {
        socket->SetRecvCallback(MakeCallback(&Receiver::Read, this));
    }
    void Read(Ptr<Socket> socket) {
        while (auto packet = socket->Recv()) {
            if (packet->GetSize() == 0) return;
            connection->received += packet->GetSize();
        }
    }
};

// Sends packets whatever happens.
struct Source {
    Connection *connection;
    Ptr<Socket> socket;
    Ptr<ExponentialRandomVariable> gaps; // null: constant
    double rate, stop;

    double Gap() { return gaps ? gaps->GetValue() : 1 / rate; }
    void Begin() {
        if (gaps) Simulator::Schedule(Seconds(Gap()), &Source::Send, this);
        else Send();
    }
    void Send() {
        if (Simulator::Now().GetSeconds() >= stop) return;
        connection->sent += socket->Send(Create<Packet>(connection->dataBytes)) >= 0;
        Simulator::Schedule(Seconds(Gap()), &Source::Send, this);
    }
};

class Network {
  public:
    Network(int argc, char **argv, double duration, double every, double jitter, double delaysFrom)
        : duration(duration), every(every), delaysFrom(delaysFrom), folder(argc > 2 ? argv[2] : ".") {
        RngSeedManager::SetSeed(1);
        RngSeedManager::SetRun(argc > 1 ? std::stoull(argv[1]) : 1);
        // As Linux has them.
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
        later = CreateObject<UniformRandomVariable>();
        later->SetAttribute("Max", DoubleValue(jitter));
    }

    // `overhead` is in bytes per packet and includes those of PPP.
    void AddLink(std::string from, std::string to, double bps, double delay, double overhead, Waiting queue,
                 double loss = 0, bool lossOfBits = false) {
        auto link = std::make_unique<Link>();
        link->name = from + "->" + to;
        link->bps = bps;
        link->delay = delay;
        link->gapBytes = std::max(overhead - 2, 0.0);
        auto channel = CreateObject<PointToPointChannel>();
        auto device = MakeDevice(channel, from, bps);
        auto far = MakeDevice(channel, to, bps);
        auto line = CreateObject<DropTailQueue<Packet>>();
        device->SetQueue(line);
        auto monitor = &link->monitor;
        if (queue.disc.empty()) {
            line->SetAttribute("MaxSize", StringValue(queue.room));
            device->TraceConnectWithoutContext("MacTx", MakeCallback(&LinkMonitor::Arrive, monitor));
            device->TraceConnectWithoutContext("MacTxDrop", MakeCallback(&LinkMonitor::Refuse, monitor));
        } else {
            auto flow = CreateObject<NetDeviceQueueInterface>();
            auto gate = new Gate{flow->GetTxQueue(0)};
            device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Gate::Close, gate));
            device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Gate::Open, gate));
            device->AggregateObject(flow);
            ObjectFactory factory(queue.disc);
            factory.Set("MaxSize", StringValue(queue.room));
            for (auto &setting : queue.settings) factory.Set(setting.first, StringValue(setting.second));
            auto disc = factory.Create<QueueDisc>();
            if (auto fair = DynamicCast<FqCoDelQueueDisc>(disc)) {
                fair->SetQuantum(queue.quantum);
                fair->SetAttribute("Perturbation", UintegerValue(RngSeedManager::GetRun()));
            } else if (auto fair = DynamicCast<FqCobaltQueueDisc>(disc)) {
                fair->SetQuantum(queue.quantum);
                fair->SetAttribute("Perturbation", UintegerValue(RngSeedManager::GetRun()));
            }
            disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&LinkMonitor::Enqueue, monitor));
            disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&LinkMonitor::RefuseItem, monitor));
            disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&LinkMonitor::DropItem, monitor));
            disc->TraceConnectWithoutContext("Mark", MakeCallback(&LinkMonitor::MarkItem, monitor));
            auto control = NodeOf(from)->GetObject<TrafficControlLayer>();
            control->SetRootQueueDiscOnDevice(device, disc);
            disc->SetNetDeviceQueueInterface(flow);
            auto send = [device](Ptr<QueueDiscItem> item) {
                device->Send(item->GetPacket(), item->GetAddress(), item->GetProtocol());
            };
            disc->SetSendCallback(send);
        }
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&LinkMonitor::Begin, monitor));
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&LinkMonitor::End, monitor));
        if (loss > 0) {
            auto errors = CreateObject<RateErrorModel>();
            errors->SetUnit(lossOfBits ? RateErrorModel::ERROR_UNIT_BIT : RateErrorModel::ERROR_UNIT_PACKET);
            errors->SetRate(loss);
            far->SetReceiveErrorModel(errors);
            far->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&LinkMonitor::LoseOnTheWay, monitor));
        }
        link->device = device;
        link->Apply();
        link->interface = Interface(device, from);
        Interface(far, to);
        links[link->name] = link.get();
        inOrder.push_back(std::move(link));
    }

    void SetBandwidth(double at, std::string name, double bps) {
        auto link = links.at(name);
        Simulator::Schedule(Seconds(at), [link, bps] { link->bps = bps; link->Apply(); });
    }

    // Of packets that are transmitted from then on.
    void SetDelay(double at, std::string name, double delay) {
        auto link = links.at(name);
        Simulator::Schedule(Seconds(at), [link, delay] { link->delay = delay; link->Apply(); });
    }

    // `count` transfers over TCP between the ends of a way, with packets of `bytes` on the wire. A window
    // of 0 is none.
    void AddTcp(std::string name, std::vector<std::string> way, std::vector<std::string> back, uint32_t bytes,
                uint32_t count, std::string congestion, uint32_t initialWindow, uint32_t largestWindow,
                uint32_t bufferBytes, bool ecn, double start, double stop, double sizePkts, double emptyRtt) {
        // 20 B of IP, 20 B of TCP and 12 B of timestamps.
        auto connection = Add(name, way, back, bytes - 52);
        auto node = NodeOf(way.back());
        auto tcp = node->GetObject<TcpL4Protocol>();
        auto listener = tcp->CreateSocket(TypeId::LookupByName(congestion));
        listener->SetAttribute("RcvBufSize", UintegerValue(bufferBytes));
        listener->SetAttribute("SegmentSize", UintegerValue(connection->dataBytes));
        listener->SetAttribute("UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
        listener->Bind(InetSocketAddress(connection->to, 9));
        listener->Listen();
        auto receiver = new Receiver{connection};
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                    MakeCallback(&Receiver::Accept, receiver));
        for (uint32_t i = 0; i < count; i++) {
            uint64_t left = sizePkts > 0 ? std::llround(sizePkts * connection->dataBytes) : UINT64_MAX;
            auto transfer = new Transfer{connection, NodeOf(way.front()), from, connection->to, congestion,
                                         initialWindow, largestWindow, bufferBytes, ecn, left, transfers++, emptyRtt};
            double begins = start + later->GetValue();
            Simulator::Schedule(Seconds(begins), &Transfer::Begin, transfer);
            if (stop > 0) Simulator::Schedule(Seconds(std::max(stop, begins)), &Transfer::Stop, transfer);
        }
    }

    // `count` sources of packets that nobody answers, at so many packets/s each.
    void AddUdp(std::string name, std::vector<std::string> way, uint32_t bytes, uint32_t count, double rate,
                bool poisson, double start, double stop) {
        // 20 B of IP and 8 B of UDP.
        auto connection = Add(name, way, {}, bytes - 28);
        auto sink = Socket::CreateSocket(NodeOf(way.back()), UdpSocketFactory::GetTypeId());
        sink->Bind(InetSocketAddress(connection->to, 9));
        auto receiver = new Receiver{connection};
        sink->SetRecvCallback(MakeCallback(&Receiver::Read, receiver));
        for (uint32_t i = 0; i < count; i++) {
            auto socket = Socket::CreateSocket(NodeOf(way.front()), UdpSocketFactory::GetTypeId());
            socket->Bind(InetSocketAddress(from, 0));
            socket->Connect(InetSocketAddress(connection->to, 9));
            Ptr<ExponentialRandomVariable> gaps;
            if (poisson) {
                gaps = CreateObject<ExponentialRandomVariable>();
                gaps->SetAttribute("Mean", DoubleValue(1 / rate));
            }
            auto source = new Source{connection, socket, gaps, rate, stop > 0 ? stop : duration};
            Simulator::Schedule(Seconds(start + later->GetValue()), &Source::Begin, source);
        }
    }

    void Run() {
        linksFile.open(folder + "/ns3-links.csv");
        connectionsFile.open(folder + "/ns3-connections.csv");
        linksFile << std::setprecision(12) << "time_s,link,arrived_pkts,lost_pkts,marked_pkts,queue_pkts,utilization\n";
        connectionsFile << std::setprecision(12) << "time_s,connection,sent_pkts,delivered_pkts\n";
        FlowMonitorHelper helper;
        auto monitor = helper.InstallAll();
        monitor->SetAttribute("DelayBinWidth", DoubleValue(1e-4));
        monitor->Start(Seconds(delaysFrom));
        for (int i = 1; i * every < duration * (1 + 1e-9); i++) {
            Simulator::Schedule(Seconds(i * every), &Network::Mark, this);
        }
        Simulator::Stop(Seconds(duration) + NanoSeconds(1));
        Simulator::Run();
        Delays(monitor, DynamicCast<Ipv4FlowClassifier>(helper.GetClassifier()));
        Simulator::Destroy();
    }

  private:
    Ptr<Node> NodeOf(std::string name) {
        auto &node = nodes[name];
        if (!node) {
            node = CreateObject<Node>();
            InternetStackHelper internet;
            Ipv4StaticRoutingHelper routing;
            internet.SetRoutingHelper(routing);
            internet.SetIpv6StackInstall(false);
            internet.Install(node);
        }
        return node;
    }

    Ptr<PointToPointNetDevice> MakeDevice(Ptr<PointToPointChannel> channel, std::string at, double bps) {
        auto device = CreateObject<PointToPointNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(std::llround(bps)));
        device->SetMtu(65000);
        device->SetQueue(CreateObject<DropTailQueue<Packet>>());
        NodeOf(at)->AddDevice(device);
        device->Attach(channel);
        return device;
    }

    uint32_t Interface(Ptr<PointToPointNetDevice> device, std::string at) {
        auto ipv4 = NodeOf(at)->GetObject<Ipv4>();
        uint32_t number = ipv4->AddInterface(device);
        ipv4->AddAddress(number, Ipv4InterfaceAddress(Ipv4Address(0x0a000000 + ++addresses), Ipv4Mask::GetOnes()));
        ipv4->SetUp(number);
        return number;
    }

    // A connection has a net of two addresses, from which and to which routes lead along its ways.
    Connection *Add(std::string name, std::vector<std::string> way, std::vector<std::string> back, uint32_t data) {
        uint32_t net = 0x0a800000 + 4 * connections.size();
        from = Ipv4Address(net + 1);
        auto connection = std::make_unique<Connection>(Connection{name, data, Ipv4Address(net + 2)});
        Own(way, from);
        Own(back.empty() ? std::vector<std::string>(way.rbegin(), way.rend()) : back, connection->to);
        Lead(way, connection->to);
        Lead(back, from);
        connections.push_back(std::move(connection));
        return connections.back().get();
    }

    // A host has this address at the interface where its packets leave: so they bear it.
    void Own(std::vector<std::string> way, Ipv4Address address) {
        auto link = links.find(way[0] + "->" + way[1]);
        uint32_t interface = link == links.end() ? 1 : link->second->interface;
        NodeOf(way[0])->GetObject<Ipv4>()->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask("/30")));
    }

    void Lead(std::vector<std::string> way, Ipv4Address to) {
        Ipv4StaticRoutingHelper helper;
        for (size_t i = 0; i + 1 < way.size(); i++) {
            auto routing = helper.GetStaticRouting(NodeOf(way[i])->GetObject<Ipv4>());
            routing->AddHostRouteTo(to, links.at(way[i] + "->" + way[i + 1])->interface);
        }
    }

    void Mark() {
        double now = Simulator::Now().GetSeconds();
        for (auto &link : inOrder) {
            auto &it = link->monitor;
            it.Settle();
            linksFile << now << ",\"" << link->name << "\"," << it.arrived << "," << it.lost << ","
                      << it.marked << "," << it.area / every << "," << it.busy / every << "\n";
            it.arrived = it.lost = it.marked = 0;
            it.area = it.busy = 0;
        }
        for (auto &connection : connections) {
            connectionsFile << now << ",\"" << connection->name << "\"," << connection->sent << ","
                            << double(connection->received) / connection->dataBytes << "\n";
            connection->sent = connection->received = 0;
        }
    }

    void Delays(Ptr<FlowMonitor> monitor, Ptr<Ipv4FlowClassifier> classifier) {
        std::ofstream file(folder + "/ns3-delays.csv");
        file << "connection,p50_s,p95_s\n";
        std::map<Ipv4Address, std::map<uint32_t, uint64_t>> bins;
        for (auto &flow : monitor->GetFlowStats()) {
            auto &own = bins[classifier->FindFlow(flow.first).destinationAddress];
            auto histogram = flow.second.delayHistogram;
            for (uint32_t i = 0; i < histogram.GetNBins(); i++) own[i] += histogram.GetBinCount(i);
        }
        for (auto &connection : connections) {
            auto &own = bins[connection->to];
            uint64_t all = 0;
            for (auto &bin : own) all += bin.second;
            if (all == 0) continue;
            auto quantile = [&](double part) {
                uint64_t sum = 0;
                for (auto &bin : own) {
                    sum += bin.second;
                    if (sum >= part * all) return (bin.first + 0.5) * 1e-4;
                }
                return 0.0;
            };
            file << "\"" << connection->name << "\"," << quantile(0.5) << "," << quantile(0.95) << "\n";
        }
    }

    double duration, every, delaysFrom;
    std::string folder;
    Ptr<UniformRandomVariable> later;
    std::map<std::string, Ptr<Node>> nodes;
    std::map<std::string, Link *> links;
    std::vector<std::unique_ptr<Link>> inOrder;
    std::vector<std::unique_ptr<Connection>> connections;
    Ipv4Address from;
    uint32_t addresses = 0, transfers = 0;
    std::ofstream linksFile, connectionsFile;
};
