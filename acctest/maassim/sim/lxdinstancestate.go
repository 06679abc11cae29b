package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
)

// putInstanceState starts, stops or restarts an instance.
func putInstanceState(c *lxdCall) reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	var in api.InstanceStatePut
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	timeout := time.Duration(in.Timeout) * time.Second
	switch strings.ToLower(in.Action) {
	case "start":
		return c.power(i, "Starting instance", func(o *operation) { c.starting(i, o) })
	case "stop":
		return c.power(i, "Stopping instance", func(o *operation) { c.stopping(i, o, in.Force, timeout, nil) })
	case "restart":
		return c.power(i, "Restarting instance", func(o *operation) {
			c.stopping(i, o, in.Force, timeout, func() { c.starting(i, o) })
		})
	case "freeze", "unfreeze":
		return lxdBad("maassim does not %s instances", in.Action)
	}
	return lxdBad("Unknown action %q", in.Action)
}

// power is an operation on the instance's power.
func (c *lxdCall) power(i *instance, description string, act func(*operation)) reply {
	o := c.begin(api.OperationClassTask, description, map[string][]string{"instances": {c.inProject("/1.0/instances/" + i.name)}})
	act(o)
	return started(o)
}

// starting turns the instance on; while it does, other operations are refused.
func (c *lxdCall) starting(i *instance, o *operation) {
	if err := c.mayStart(i); err != nil {
		o.finish(c.w, c.l, err)
		return
	}
	i.busy = "start"
	c.w.orphan(c.w.model.Latency.PowerOn, func() {
		i.busy, i.running, i.started = "", true, time.Now()
		o.finish(c.w, c.l, nil)
	})
}

func (c *lxdCall) mayStart(i *instance) error {
	switch {
	case i.busy != "":
		return i.busyError()
	case i.running:
		return lxdError("The instance is already running")
	}
	return i.startProblem()
}

// start is what "start": true does after the creation.
func (c *lxdCall) start(i *instance) error {
	if err := c.mayStart(i); err != nil {
		return err
	}
	i.running, i.started = true, time.Now()
	return nil
}

// stopping turns the instance off: at once with force, else when its guest has
// gone down. One without a guest never does, so that LXD gives up after the
// timeout, or waits for ever.
func (c *lxdCall) stopping(i *instance, o *operation, force bool, timeout time.Duration, then func()) {
	switch {
	case !i.running:
		o.finish(c.w, c.l, lxdError("The instance is already stopped"))
	case force && (i.busy == "" || i.busy == "stop"):
		i.busy = ""
		c.stopped(i, o, then)
	case i.busy != "":
		o.finish(c.w, c.l, i.busyError())
	case i.hasGuest(c.w):
		i.busy = "stop"
		c.w.orphan(c.w.model.Latency.PowerOff, func() { c.stopped(i, o, then) })
	case timeout <= 0:
		i.busy = "stop"
		i.waiting = append(i.waiting, func() { o.finish(c.w, c.l, nil) })
	default:
		i.busy = "stop"
		c.w.after(timeout, func() {
			if i.running && i.busy == "stop" {
				i.busy = ""
			}
			o.finish(c.w, c.l, lxdError(`Failed shutting down instance, status is "Running": context deadline exceeded`))
		})
		i.waiting = append(i.waiting, func() { o.finish(c.w, c.l, nil) })
	}
}

// stopped ends the operation, and those that waited for the same.
func (c *lxdCall) stopped(i *instance, o *operation, then func()) {
	i.busy, i.running = "", false
	for _, f := range i.waiting {
		f()
	}
	i.waiting = nil
	if then != nil {
		then()
		return
	}
	o.finish(c.w, c.l, nil)
}

// hasGuest says whether a system runs in the instance that goes down when it is
// asked to: MAAS has booted one.
func (i *instance) hasGuest(w *world) bool {
	for _, m := range w.machines {
		if m.has(i) {
			return slices.Contains([]Status{StatusDeployed, StatusDeploying, StatusCommissioning, StatusTesting}, m.status)
		}
	}
	return false
}
