package realmaas

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// operationsByStatus is the operation that takes a machine nearer to Ready, by
// MAAS's name for its status. An empty operation means to wait for MAAS. A
// machine in an unlisted status (Missing, Reserved, Retired) is left alone,
// with an error that names it.
var operationsByStatus = map[string]string{
	"Ready":                       "",
	"New":                         "commission",
	"Commissioning":               "abort",
	"Failed commissioning":        "commission",
	"Testing":                     "abort",
	"Failed testing":              "override_failed_testing",
	"Allocated":                   "release",
	"Deploying":                   "release",
	"Deployed":                    "release",
	"Failed deployment":           "release",
	"Releasing":                   "",
	"Releasing failed":            "release",
	"Disk erasing":                "",
	"Failed disk erasing":         "release",
	"Broken":                      "mark_fixed",
	"Entering rescue mode":        "",
	"Rescue mode":                 "exit_rescue_mode",
	"Exiting rescue mode":         "",
	"Failed to enter rescue mode": "exit_rescue_mode",
	"Failed to exit rescue mode":  "exit_rescue_mode",
}

// GiveBack makes a lent machine Ready and without an owner, whatever its state
// is. It then restores its name, place, description, tags and interfaces. It
// returns an error for a machine that MAAS no longer has: no story may delete
// one.
//
// It repeats refused calls until ctx ends, because a power action may be under
// way. The error then has the last refusal.
func (c *Client) GiveBack(ctx context.Context, was Machine, pause time.Duration) error {
	var refusal error // of the last step
	for commissions := false; ; {
		m, err := c.Machine(ctx, was.SystemID)
		if err != nil {
			return fmt.Errorf("cannot give back machine %s: %w", was.Hostname, errors.Join(err, refusal))
		}
		if m.StatusName == "Ready" && m.Owner == "" && !m.Locked {
			return c.restoreMachine(ctx, m, was)
		}
		op, err := operationTowardsReady(m, commissions)
		if err != nil {
			return err
		}
		if op != "" {
			err := c.callOperation(ctx, m.SystemID, op)
			if err == nil || ctx.Err() == nil { // else the call was cut off, and says nothing
				refusal = err
			}
			commissions = commissions || op == "commission" && err == nil
		}
		if err := WaitFor(ctx, pause); err != nil {
			return fmt.Errorf("cannot give back machine %s: it is %s: %w", was.Hostname, m.StatusName, errors.Join(err, refusal))
		}
	}
}

// operationTowardsReady is the operation that takes a machine one step nearer
// to Ready. Empty means to wait for MAAS. It does not abort a commissioning
// that GiveBack has begun.
func operationTowardsReady(m Machine, commissions bool) (string, error) {
	if m.Locked {
		return "unlock", nil
	}
	op, known := operationsByStatus[m.StatusName]
	switch {
	case !known:
		return "", fmt.Errorf("cannot give back machine %s: there is no operation for the status %s", m.Hostname, m.StatusName)
	case commissions && (m.StatusName == "Commissioning" || m.StatusName == "Testing"):
		return "", nil
	}
	return op, nil
}

// callOperation calls an operation of a machine. The caller repeats it after a
// refusal.
func (c *Client) callOperation(ctx context.Context, systemID, op string) error {
	form := url.Values{}
	if op == "commission" {
		form.Set("testing_scripts", "none")
	}
	return c.Operate(ctx, systemID, op, form)
}

// restoreMachine restores what a story may have changed of a Ready machine.
func (c *Client) restoreMachine(ctx context.Context, m, was Machine) error {
	if m.Hostname != was.Hostname || m.Zone != was.Zone || m.Pool != was.Pool || m.Domain != was.Domain || m.Description != was.Description {
		err := c.Change(ctx, m.SystemID, url.Values{
			"hostname": {was.Hostname}, "zone": {was.Zone.Name}, "pool": {was.Pool.Name},
			"domain": {was.Domain.Name}, "description": {was.Description},
		})
		if err != nil {
			return fmt.Errorf("cannot give back machine %s: %w", was.Hostname, err)
		}
	}
	if err := c.restoreInterfaces(ctx, m, was); err != nil {
		return fmt.Errorf("cannot give back the interfaces of machine %s: %w", was.Hostname, err)
	}
	if err := c.SetTags(ctx, m, was.Tags); err != nil {
		return fmt.Errorf("cannot give back the tags of machine %s: %w", was.Hostname, err)
	}
	return nil
}
