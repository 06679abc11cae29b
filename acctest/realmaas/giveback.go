package realmaas

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// operationsByStatus is the operation that brings a machine nearer to Ready, by MAAS's name of
// its status. Empty: MAAS is at it, and one waits. A machine in a status that is not
// listed (Missing, Reserved, Retired) is left as it is, with an error that names it.
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

// GiveBack makes a lent machine Ready and nobody's again, whatever its state is, and
// puts its name, place, description, tags and interfaces back to what they were. A
// machine that MAAS does not have any more is an error: no story may delete one.
//
// What MAAS refuses is tried again until ctx ends: a power action may be under way. The
// error then tells the last refusal.
func (c *Client) GiveBack(ctx context.Context, was Machine, pause time.Duration) error {
	var refusal error // of the last step: a power action may have been under way
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
			if err == nil || ctx.Err() == nil { // else the call was cut off, and tells nothing
				refusal = err
			}
			commissions = commissions || op == "commission" && err == nil
		}
		if err := WaitFor(ctx, pause); err != nil {
			return fmt.Errorf("cannot give back machine %s: it is %s: %w", was.Hostname, m.StatusName, errors.Join(err, refusal))
		}
	}
}

// operationTowardsReady brings a machine one step nearer to Ready; empty: MAAS is at it.
// A commissioning that GiveBack has begun itself is not aborted.
func operationTowardsReady(m Machine, commissions bool) (string, error) {
	if m.Locked {
		return "unlock", nil
	}
	op, known := operationsByStatus[m.StatusName]
	switch {
	case !known:
		return "", fmt.Errorf("cannot give back machine %s: no operation is known for the status %s", m.Hostname, m.StatusName)
	case commissions && (m.StatusName == "Commissioning" || m.StatusName == "Testing"):
		return "", nil
	}
	return op, nil
}

// callOperation calls an operation. What MAAS refuses is tried again by the caller.
func (c *Client) callOperation(ctx context.Context, systemID, op string) error {
	form := url.Values{}
	if op == "commission" {
		form.Set("testing_scripts", "none")
	}
	return c.Operate(ctx, systemID, op, form)
}

// restoreMachine puts back what a story may have changed of a Ready machine.
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
