package metadata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// status is a machine's report about a step of its first boot, as cloud-init's webhook
// sends it.
type status struct {
	EventType   *string `json:"event_type"` // "start", "progress" or "finish"
	Origin      *string `json:"origin"`
	Name        *string `json:"name"` // "modules-final/config-lxd"; a stage has no slash
	Description *string `json:"description"`
	Result      string  `json:"result"` // "SUCCESS", "WARN", "FAIL"
}

// receiveStatus records a report as MAAS does (metadataserver/api_twisted.py,
// StatusHandlerResource): beginnings and failures. A failed stage of a Deploying machine
// ends its deployment.
func receiveStatus(m *world.Machine, systemID string, body []byte) rest.Reply {
	if i := slices.IndexFunc(body, func(b byte) bool { return b > 0x7f }); i >= 0 {
		return rest.BadTextReply(fmt.Sprintf("Status payload must be ASCII-only: byte %d", i))
	}
	var s status
	if err := json.Unmarshal(body, &s); err != nil {
		return rest.BadTextReply("Status payload is not valid JSON:\n" + string(body) + "\n\n")
	}
	if missing := s.missingFields(); len(missing) > 0 {
		return rest.BadTextReply("Missing parameter(s) " + strings.Join(missing, ", ") + " in status message.")
	}
	failed := s.Result == "FAIL" || s.Result == "FAILURE"
	if systemID == m.SystemID && (*s.EventType == "start" || failed) {
		noteStatus(m, s)
	}
	isStage := !strings.Contains(*s.Name, "/")
	if failed && isStage && *s.EventType == "finish" && m.Status == world.StatusDeploying {
		lifecycle.FailTransition(m, "Installation failed (refer to the installation log for more information).")
	}
	return rest.Reply{Status: http.StatusNoContent, Kind: rest.TypeHTML}
}

func (s status) missingFields() (names []string) {
	for _, field := range []struct {
		name  string
		value *string
	}{{"event_type", s.EventType}, {"origin", s.Origin}, {"name", s.Name}, {"description", s.Description}} {
		if field.value == nil {
			names = append(names, field.name)
		}
	}
	return names
}

// noteStatus adds the event (metadataserver/api.py, add_event_to_node_event_log).
func noteStatus(m *world.Machine, s status) {
	level, kind := "DEBUG", lifecycle.CloudInitEvent
	good := s.Result == "" || s.Result == "SUCCESS"
	switch {
	case m.Status == world.StatusDeploying && good:
		kind = "Node installation"
	case m.Status == world.StatusDeploying:
		level, kind = "ERROR", "Node installation failure"
	case m.Status == world.StatusDeployed && s.Result == "FAIL":
		level, kind = "ERROR", lifecycle.CloudInitFailedEvent
	}
	m.AddEvent(level, kind, fmt.Sprintf("'%s' %s", *s.Origin, *s.Description), *s.Name)
}
