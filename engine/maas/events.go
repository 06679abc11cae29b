package maas

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

type wireEvents struct {
	Events []wireEvent `json:"events"` // newest first
}

type wireEvent struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// The names of deployment events in MAAS (provisioningserver/events.py).
const (
	eventDeploying        = "Deploying"
	eventDeployed         = "Deployed"
	eventInstallFailure   = "Node installation failure"
	eventFirstBootFailure = "Node post-installation failure"
	cloudInitPrefix       = "'cloudinit' "
	maxFirstBootEvents    = "200"
)

// The limits of what is shown of a failure.
const (
	maxEvents  = 3
	maxScripts = 3
	maxLines   = 3 // of the output of a script
)

// Events reads the event logs of machines and the results of their scripts.
type Events struct{ api *api.Client }

// FirstBootFailures implements engine.Reports. cloud-init reports each of its steps to
// MAAS, which keeps failed ones in the machine's event log.
func (c *Events) FirstBootFailures(ctx context.Context, systemID string) ([]string, error) {
	r := api.NewGet("events/")
	r.Query = url.Values{"op": {"query"}, "id": {systemID}, "level": {"INFO"}, "limit": {maxFirstBootEvents}}
	var listed wireEvents
	if err := c.api.List(ctx, r, &listed); err != nil {
		return nil, err
	}
	var failures []string
	for _, e := range listed.Events {
		if e.Type == eventDeployed || e.Type == eventDeploying {
			break
		}
		if said, ok := strings.CutPrefix(e.Description, cloudInitPrefix); ok && (e.Type == eventInstallFailure || e.Type == eventFirstBootFailure) {
			failures = append(failures, c.api.Redact(said))
		}
	}
	slices.Reverse(failures)
	return failures, nil
}

// Redact implements engine.Reports.
func (c *Events) Redact(text string, secrets ...string) string { return c.api.Redact(text, secrets...) }

// LastEvents implements engine.Reports.
func (c *Events) LastEvents(ctx context.Context, systemID string, secrets []string) ([]string, error) {
	r := api.NewGet("events/")
	r.Query = url.Values{"op": {"query"}, "id": {systemID}, "level": {"INFO"}, "limit": {strconv.Itoa(maxEvents)}}
	var listed wireEvents
	if err := c.api.List(ctx, r, &listed); err != nil {
		return nil, err
	}
	var said []string
	for _, e := range listed.Events[:min(len(listed.Events), maxEvents)] {
		text := e.Type
		if e.Description != "" {
			text += " - " + e.Description // as in a machine's status message (models/node.py)
		}
		said = append(said, c.api.Redact(text, secrets...))
	}
	slices.Reverse(said)
	return said, nil
}

// wireScripts is a run of scripts on a machine.
type wireScripts struct {
	ID      int          `json:"id"`
	Results []wireScript `json:"results"`
}

type wireScript struct {
	ID         int             `json:"id"`
	Name       string          `json:"name"`
	Status     int             `json:"status"`
	StatusName string          `json:"status_name"`
	ExitStatus *int            `json:"exit_status"`
	Suppressed bool            `json:"suppressed"`
	Parameters json.RawMessage `json:"parameters"`
	Output     string          `json:"output"` // base64
}

// scriptKinds are the kinds of scripts whose failure leads to a status. Before MAAS 3.5 a
// release has no scripts, and MAAS refuses the kind.
var scriptKinds = map[engine.Status]string{
	engine.StatusFailedCommissioning: "commissioning", engine.StatusFailedTesting: "testing", engine.StatusFailedDeployment: "installation",
	engine.StatusFailedReleasing: "release", engine.StatusFailedDiskErasing: "release",
}

// hasFailed reports whether a script failed (metadataserver/enum.py, SCRIPT_STATUS_FAILED):
// it failed, it timed out, or what it needs could not be installed or configured.
func (s wireScript) hasFailed() bool {
	return slices.Contains([]int{3, 4, 8, 11}, s.Status) && !s.Suppressed
}

// FailedScripts implements engine.Reports. It lists the runs without the output of the
// scripts, which can be megabytes. Then it reads the output of the failed ones only.
func (c *Events) FailedScripts(ctx context.Context, m engine.Machine, secrets []string) ([]engine.FailedScript, error) {
	kind, ok := scriptKinds[m.Status]
	if !ok {
		return nil, nil
	}
	r := api.NewGet("nodes/{system_id}/results/", m.SystemID)
	r.Query = url.Values{"type": {kind}}
	var runs []wireScripts
	err := c.api.Call(ctx, r, &runs)
	switch {
	case errors.Is(err, engine.ErrInvalid) || err == nil && len(runs) == 0:
		return nil, nil
	case err != nil:
		return nil, err
	}
	last := slices.MaxFunc(runs, func(a, b wireScripts) int { return cmp.Compare(a.ID, b.ID) })
	failed := slices.DeleteFunc(last.Results, func(s wireScript) bool { return !s.hasFailed() })
	if len(failed) == 0 {
		return nil, nil
	}
	failed = failed[:min(len(failed), maxScripts)]
	return c.readOutputs(ctx, m.SystemID, last.ID, failed, secrets)
}

// readOutputs reads the output of scripts of one run. If that fails, it returns them
// without output, and the error.
func (c *Events) readOutputs(ctx context.Context, systemID string, run int, scripts []wireScript, secrets []string) ([]engine.FailedScript, error) {
	var ids []string
	for _, s := range scripts {
		ids = append(ids, strconv.Itoa(s.ID))
	}
	r := api.NewGet("nodes/{system_id}/results/{id}/", systemID, strconv.Itoa(run))
	r.Query = url.Values{"include_output": {"true"}, "filters": {strings.Join(ids, ",")}}
	var read wireScripts
	err := c.api.Call(ctx, r, &read)
	var failed []engine.FailedScript
	for _, s := range scripts {
		f := engine.FailedScript{Name: c.api.Redact(s.Name), Disk: s.disk(), StatusName: api.Shorten(s.StatusName), ExitStatus: s.ExitStatus}
		i := slices.IndexFunc(read.Results, func(r wireScript) bool { return r.ID == s.ID })
		if i >= 0 {
			text, _ := base64.StdEncoding.DecodeString(read.Results[i].Output) // output that is not base64 is not shown
			f.Output = c.api.RedactLastLines(string(text), maxLines, secrets...)
		}
		failed = append(failed, f)
	}
	return failed, err
}

// disk returns the disk that a script ran for; empty if MAAS does not name one.
func (s wireScript) disk() string {
	var told struct {
		Storage struct {
			Value struct {
				Name string `json:"name"`
			} `json:"value"`
		} `json:"storage"`
	}
	if json.Unmarshal(s.Parameters, &told) != nil {
		return ""
	}
	return api.Shorten(told.Storage.Value.Name)
}
