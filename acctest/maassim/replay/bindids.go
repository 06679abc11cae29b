package replay

import (
	"encoding/json"
	"net/http"
	"slices"
)

// bindIDs finds the simulator's names of what a request names and no answer
// before it showed: later answers tell whose it is.
func (p *player) bindIDs(i int) {
	route := p.exchanges[i].Route()
	if len(route) >= 4 && route[0] == "nodes" && route[2] == "interfaces" {
		p.bindInterface(route[1], route[3])
	}
}

// bindInterface binds the interface of a node by its place among the node's.
func (p *player) bindInterface(node, recorded string) {
	simNode, known := p.match.bound["node"][node]
	if !known || p.match.bound["interface"][recorded] != "" {
		return
	}
	var have []struct{ ID json.Number }
	if !decodeBody(p.try(http.MethodGet, "nodes/"+simNode+"/interfaces/", nil), &have) {
		return
	}
	at := max(0, slices.Index(p.recordedInterfaces(node), recorded))
	if at < len(have) {
		p.match.bind("interface", "", recorded, have[at].ID.String())
	}
}

// recordedInterfaces are the ids of a node's interfaces, as some answer lists them.
func (p *player) recordedInterfaces(node string) (all []string) {
	for _, s := range p.found.sightings(node) {
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
