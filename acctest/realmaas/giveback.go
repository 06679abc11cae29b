package realmaas

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// returnBy is the operation that brings a machine nearer to Ready, by MAAS's name of
// its status. Empty: MAAS is at it, and one waits. A status that is not listed is left
// as it is, with an error that names it.
var returnBy = map[string]string{
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
// puts its place, description and tags back to what they were. A machine that MAAS
// does not have any more is an error: no story may delete one.
func (c *Client) GiveBack(ctx context.Context, was Machine, pause time.Duration) error {
	for {
		m, err := c.Machine(ctx, was.SystemID)
		if err != nil {
			return fmt.Errorf("cannot give back machine %s: %w", was.Hostname, err)
		}
		if m.StatusName == "Ready" && m.Owner == "" && !m.Locked {
			return c.restore(ctx, m, was)
		}
		if err := c.nearer(ctx, m); err != nil {
			return err
		}
		if err := Wait(ctx, pause); err != nil {
			return fmt.Errorf("cannot give back machine %s: it is %s: %w", was.Hostname, m.StatusName, err)
		}
	}
}

// nearer takes one step towards Ready. What MAAS refuses is tried again by the caller,
// as long as it waits: a power action may be under way.
func (c *Client) nearer(ctx context.Context, m Machine) error {
	if m.Locked {
		return c.Operate(ctx, m.SystemID, "unlock", nil)
	}
	op, known := returnBy[m.StatusName]
	if !known {
		return fmt.Errorf("cannot give back machine %s: no operation is known for the status %s", m.Hostname, m.StatusName)
	}
	if m.StatusName == "Ready" { // with an owner that is yet to go
		return nil
	}
	if op == "" {
		return nil
	}
	form := url.Values{}
	if op == "commission" {
		form.Set("testing_scripts", "none")
	}
	err := c.Operate(ctx, m.SystemID, op, form)
	if IsGone(err) {
		return err
	}
	return nil
}

// restore puts back what a story may have changed of a Ready machine.
func (c *Client) restore(ctx context.Context, m, was Machine) error {
	if m.Hostname != was.Hostname || m.Zone != was.Zone || m.Pool != was.Pool || m.Domain != was.Domain || m.Description != was.Description {
		err := c.Change(ctx, m.SystemID, url.Values{
			"hostname": {was.Hostname}, "zone": {was.Zone.Name}, "pool": {was.Pool.Name},
			"domain": {was.Domain.Name}, "description": {was.Description},
		})
		if err != nil {
			return fmt.Errorf("cannot give back machine %s: %w", was.Hostname, err)
		}
	}
	if err := c.SetTags(ctx, m, was.Tags); err != nil {
		return fmt.Errorf("cannot give back the tags of machine %s: %w", was.Hostname, err)
	}
	return nil
}
