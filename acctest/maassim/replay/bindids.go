package replay

import (
	"encoding/json"
	"net/http"
	"slices"
)

// bindIDs binds recorded ids that a request names before any answer shows them. Later
// answers tell which object they belong to.
func (p *player) bindIDs(i int) {
	route := p.exchanges[i].Route()
	if len(route) >= 4 && route[0] == "nodes" && route[2] == "interfaces" {
		p.bindInterface(route[1], route[3])
		if id := p.exchanges[i].FormValues().Get("id"); p.exchanges[i].Op() == "unlink_subnet" && id != "" {
			p.bindLink(route[1], route[3], id)
		}
	}
}

// bindFoundMachine binds a machine that MAAS made from an instance which it found. The
// instance has the same name or MAC address. No earlier answer shows the machine.
func (p *player) bindFoundMachine(s sighting) {
	if p.match.simulatedOf["node"][s.ID] != "" || s.PodID == "" {
		return
	}
	for _, i := range p.world.Instances() {
		if i.MachineID == "" || p.match.recordedOf["node"][i.MachineID] != "" {
			continue
		}
		if s.Hostname == i.Name || s.MAC != "" && slices.Contains(i.MACs, s.MAC) {
			p.bindNode(s.ID, i.MachineID)
			return
		}
	}
}

// bindLink binds a link by its position among the interface's links in an earlier answer.
func (p *player) bindLink(node, nic, recorded string) {
	if p.match.simulatedOf["link"][recorded] != "" {
		return
	}
	var have struct{ Links []struct{ ID json.Number } }
	path := "nodes/" + p.match.translate("node", node) + "/interfaces/" + p.match.translate("interface", nic) + "/"
	if !decodeBody(p.tryCall(http.MethodGet, path, nil), &have) {
		return
	}
	for _, body := range p.evidence.bodies {
		for _, o := range objectsOf(body) {
			links, _ := o["links"].([]any)
			for at, link := range objectsOf(links) {
				if textOf(link["id"]) == recorded && at < len(have.Links) {
					p.match.bind("link", "", recorded, have.Links[at].ID.String())
					return
				}
			}
		}
	}
}

// bindInterface binds the interface of a node by its position among the node's interfaces.
func (p *player) bindInterface(node, recorded string) {
	simNode, known := p.match.simulatedOf["node"][node]
	if !known || p.match.simulatedOf["interface"][recorded] != "" {
		return
	}
	var have []struct{ ID json.Number }
	if !decodeBody(p.tryCall(http.MethodGet, "nodes/"+simNode+"/interfaces/", nil), &have) {
		return
	}
	at := max(0, slices.Index(p.evidence.interfaceIDs(node), recorded))
	if at < len(have) {
		p.match.bind("interface", "", recorded, have[at].ID.String())
	}
}

// interfaceIDs are the ids of a node's interfaces, as an answer lists them.
func (v *evidence) interfaceIDs(node string) (all []string) {
	for _, s := range v.sightings(node) {
		list, _ := s.Body["interface_set"].([]any)
		for _, o := range objectsOf(list) {
			all = append(all, textOf(o["id"]))
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
