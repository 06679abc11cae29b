package maas

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine/maas/api"
)

type wireEvents struct {
	Events []wireEvent `json:"events"` // newest first
}

type wireEvent struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// What MAAS calls the events of a deployment (provisioningserver/events.py).
const (
	eventDeploying    = "Deploying"
	eventDeployed     = "Deployed"
	eventInstall      = "Node installation failure"
	eventFirstBoot    = "Node post-installation failure"
	fromCloudInit     = "'cloudinit' "
	firstBootEventMax = "200"
)

// Events reads the event logs of machines.
type Events struct{ api *api.Client }

// FirstBootFailures implements engine.Reports. cloud-init reports each of its
// steps to MAAS, which keeps those that failed in the machine's event log.
func (c *Events) FirstBootFailures(ctx context.Context, systemID string) ([]string, error) {
	r := api.Get("events/")
	r.Query = url.Values{"op": {"query"}, "id": {systemID}, "level": {"INFO"}, "limit": {firstBootEventMax}}
	var listed wireEvents
	if err := c.api.List(ctx, r, &listed); err != nil {
		return nil, err
	}
	var failures []string
	for _, e := range listed.Events {
		if e.Type == eventDeployed || e.Type == eventDeploying {
			break
		}
		if said, ok := strings.CutPrefix(e.Description, fromCloudInit); ok && (e.Type == eventInstall || e.Type == eventFirstBoot) {
			failures = append(failures, api.Shorten(said))
		}
	}
	slices.Reverse(failures)
	return failures, nil
}
