package maas

import (
	"context"
	"net/url"
	"slices"
	"strings"
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

// FirstBootFailures implements engine.Reports. cloud-init reports each of its
// steps to MAAS, which keeps those that failed in the machine's event log.
func (c *Client) FirstBootFailures(ctx context.Context, systemID string) ([]string, error) {
	r := get("events/")
	r.query = url.Values{"op": {"query"}, "id": {systemID}, "level": {"INFO"}, "limit": {firstBootEventMax}}
	var listed wireEvents
	if err := c.list(ctx, r, &listed); err != nil {
		return nil, err
	}
	var failures []string
	for _, e := range listed.Events {
		if e.Type == eventDeployed || e.Type == eventDeploying {
			break
		}
		if said, ok := strings.CutPrefix(e.Description, fromCloudInit); ok && (e.Type == eventInstall || e.Type == eventFirstBoot) {
			failures = append(failures, shorten(said))
		}
	}
	slices.Reverse(failures)
	return failures, nil
}
