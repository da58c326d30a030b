// Of what an acknowledgement covers no more than two segments count for growth: one that ends a recovery
// covers many that were counted when they were selectively acknowledged.
uint32_t Newly(uint32_t segments) { return std::min(segments, 2u); }

class SteadyReno : public TcpLinuxReno {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("ns3::SteadyReno").SetParent<TcpLinuxReno>().AddConstructor<SteadyReno>();
        return id;
    }
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segments) override {
        TcpLinuxReno::IncreaseWindow(tcb, Newly(segments));
    }
    Ptr<TcpCongestionOps> Fork() override { return CopyObject<SteadyReno>(this); }
};
NS_OBJECT_ENSURE_REGISTERED(SteadyReno);

// And CUBIC with the window that Reno would have with the same decrease, as Linux has it (RFC 9438, 4.3).
class RenoFriendlyCubic : public TcpCubic {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("ns3::RenoFriendlyCubic").SetParent<TcpCubic>().AddConstructor<RenoFriendlyCubic>();
        return id;
    }
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t inFlight) override {
        reno = acked = credit = 0;
        return TcpCubic::GetSsThresh(tcb, inFlight);
    }
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t covered) override {
        uint32_t segments = Newly(covered);
        bool slowStart = tcb->m_cWnd < tcb->m_ssThresh;
        TcpCubic::IncreaseWindow(tcb, segments);
        if (slowStart) return;
        uint32_t window = tcb->GetCwndInSegments();
        if (reno == 0) reno = window;
        acked += segments;
        uint32_t forOne = std::max(1.0, window * 1.7 / (3 * 0.3));
        while (acked > forOne) { acked -= forOne; reno++; }
        if (reno <= window) return;
        credit += segments;
        uint32_t wanted = std::max(2u, window / (reno - window));
        if (credit >= wanted) { credit -= wanted; tcb->m_cWnd += tcb->m_segmentSize; }
    }
    Ptr<TcpCongestionOps> Fork() override { return CopyObject<RenoFriendlyCubic>(this); }

  private:
    uint32_t reno = 0, acked = 0, credit = 0; // packets
};
NS_OBJECT_ENSURE_REGISTERED(RenoFriendlyCubic);

// And DCTCP where nothing is marked: half of the window is left by a loss (RFC 8257, 3.5).
class HalvingDctcp : public TcpDctcp {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("ns3::HalvingDctcp").SetParent<TcpDctcp>().AddConstructor<HalvingDctcp>();
        return id;
    }
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t) override {
        return std::max(2u, tcb->GetCwndInSegments() / 2) * tcb->m_segmentSize;
    }
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segments) override {
        TcpDctcp::IncreaseWindow(tcb, Newly(segments));
    }
    Ptr<TcpCongestionOps> Fork() override { return CopyObject<HalvingDctcp>(this); }
};
NS_OBJECT_ENSURE_REGISTERED(HalvingDctcp);
