package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// WaitAndLog is engine.Wait that also writes the progress of an object, such as "VM web-1", to
// Terraform's log.
func WaitAndLog[Object any](ctx context.Context, object string, step func(context.Context) (engine.Result[Object], error)) (Object, error) {
	return engine.WaitUntilDone(ctx, step, func(p engine.Progress) {
		tflog.Info(ctx, "waiting", map[string]any{
			"object": object, "phase": p.Phase, "message": p.Message, "for": p.PhaseDuration().String(), "left": p.Left.Round(time.Second).String(),
		})
	})
}

// lastEventTimeout limits the call for MAAS's last event after the time of the create is up.
const lastEventTimeout = 10 * time.Second

// describeStoppedPhase says in which phase the wait's time was up, since when it was in it,
// and MAAS's last event of the machine. It is empty for other ends.
func (c *Client) describeStoppedPhase(ctx context.Context, u UnfinishedCreate, err error) string {
	stopped, ok := errors.AsType[*engine.StoppedError](err)
	if !ok || stopped.Phase == "" {
		return ""
	}
	text := fmt.Sprintf("It is %s since %s, for %s", u.Phase, stopped.Since.UTC().Format("15:04:05 UTC"), stopped.PhaseDuration())
	if event := c.lastEvent(ctx, u, stopped); event != "" {
		text += ". MAAS's last event: " + event
	}
	if stopped.Last != nil {
		text += ". The last error was: " + engine.ErrorText(stopped.Last)
	}
	return diagnostics.Paragraph(text)
}

// lastEvent asks MAAS for its last event of a machine. If MAAS did not answer before, or if
// somebody interrupts the run, it returns the event that the last read saw.
func (c *Client) lastEvent(ctx context.Context, u UnfinishedCreate, stopped *engine.StoppedError) string {
	b, err := c.Backend()
	if err != nil || b.Reports == nil {
		return ""
	}
	seen := b.Reports.Redact(stopped.Message, u.Secrets...)
	if u.SystemID == "" || stopped.Last != nil || !errors.Is(stopped.Cause, context.DeadlineExceeded) {
		return seen
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEventTimeout)
	defer cancel()
	events, err := b.Reports.LastEvents(asking, u.SystemID, u.Secrets)
	if err != nil || len(events) == 0 {
		return seen
	}
	return events[len(events)-1]
}
