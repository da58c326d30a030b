// The transfers of a network in SimGrid, whose default network model (LV08) shares bandwidth between flows.
// Reads lines from the standard input:
//   link NAME BYTES_PER_S DELAY_S
//   flow NAME START_S STOP_S WINDOW_BYTES LINK,LINK… LINK,LINK…     (there and back)
// and prints for each flow its name and the bytes that it has delivered.
#include <iostream>
#include <map>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Flow {
  std::string name;
  double start_s, stop_s, window_bytes;
  std::string there, back;
  double delivered = 0;
};

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  std::map<std::string, std::pair<double, double>> links;
  std::vector<Flow> flows;
  std::string line, kind;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    in >> kind;
    if (kind == "link") {
      std::string name;
      double rate, delay;
      in >> name >> rate >> delay;
      links[name] = {rate, delay};
    } else {
      Flow f;
      in >> f.name >> f.start_s >> f.stop_s >> f.window_bytes >> f.there >> f.back;
      flows.push_back(f);
    }
  }
  // One window for all: SimGrid has one.
  engine.set_config("network/TCP-gamma:" + std::to_string(flows.empty() ? 65536 : flows[0].window_bytes));
  auto* zone = sg4::create_full_zone("network");
  std::map<std::string, sg4::Link*> made;
  for (auto const& [name, link] : links)
    made[name] = zone->create_link(name, link.first)->set_latency(link.second)->seal();
  auto way = [&](std::string const& names) {
    std::vector<sg4::LinkInRoute> all;
    std::istringstream in(names);
    for (std::string name; std::getline(in, name, ',');)
      all.emplace_back(made.at(name));
    return all;
  };
  for (auto& flow : flows) {
    auto* from = zone->create_host(flow.name + ".from", 1e9)->seal();
    auto* to = zone->create_host(flow.name + ".to", 1e9)->seal();
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, way(flow.there), false);
    zone->add_route(to->get_netpoint(), from->get_netpoint(), nullptr, nullptr, way(flow.back), false);
    sg4::Actor::create(flow.name, from, [&flow, from, to] {
      constexpr double endless = 1e15;
      sg4::this_actor::sleep_until(flow.start_s);
      auto transfer = sg4::Comm::sendto_init(from, to);
      transfer->set_payload_size(endless);
      transfer->start();
      sg4::this_actor::sleep_until(flow.stop_s);
      flow.delivered = endless - transfer->get_remaining();
      transfer->cancel();
    });
  }
  zone->seal();
  engine.run();
  for (auto const& flow : flows)
    std::cout << flow.name << " " << flow.delivered << "\n";
}
