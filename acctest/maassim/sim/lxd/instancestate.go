package lxd

import (
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/pci"
)

// putInstanceState starts, stops or restarts an instance.
func putInstanceState(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	var in api.InstanceStatePut
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	timeout := time.Duration(in.Timeout) * time.Second
	switch strings.ToLower(in.Action) {
	case "start":
		return c.startPowerOperation(i, "Starting instance", func(o *world.Operation) { c.beginStart(i, o) })
	case "stop":
		return c.startPowerOperation(i, "Stopping instance", func(o *world.Operation) { c.beginStop(i, o, in.Force, timeout, nil) })
	case "restart":
		return c.startPowerOperation(i, "Restarting instance", func(o *world.Operation) {
			c.beginStop(i, o, in.Force, timeout, func() { c.beginStart(i, o) })
		})
	case "freeze", "unfreeze":
		return BadRequestReply("maassim does not %s instances", in.Action)
	}
	return BadRequestReply("Unknown action %q", in.Action)
}

// startPowerOperation starts an operation on the instance's power.
func (c *Call) startPowerOperation(i *world.Instance, description string, act func(*world.Operation)) rest.Reply {
	o := c.beginOperation(api.OperationClassTask, description, map[string][]string{"instances": {c.inProject("/1.0/instances/" + i.Name)}})
	act(o)
	return operationReply(o)
}

// beginStart starts the instance. Until the start ends, other operations are refused.
func (c *Call) beginStart(i *world.Instance, o *world.Operation) {
	if err := c.checkStart(i); err != nil {
		finishOperation(o, c.World, c.LXD, err)
		return
	}
	i.Busy = "start"
	c.World.StartLXDJob(c.World.Latency.PowerOn, func() {
		i.Busy, i.Running, i.Ports, i.StartedAt = "", true, pci.Ports{}, time.Now()
		finishOperation(o, c.World, c.LXD, nil)
	})
}

func (c *Call) checkStart(i *world.Instance) error {
	switch {
	case i.Busy != "":
		return busyError(i)
	case i.Running:
		return operationError("The instance is already running")
	}
	return startError(i)
}

// startNow starts a new instance, as "start": true asks.
func (c *Call) startNow(i *world.Instance) error {
	if err := c.checkStart(i); err != nil {
		return err
	}
	i.Running, i.Ports, i.StartedAt = true, pci.Ports{}, time.Now()
	return nil
}

// beginStop stops the instance: at once with force, else when its guest has shut down. An
// instance without a guest never shuts down, so LXD gives up after the timeout, or waits
// forever.
func (c *Call) beginStop(i *world.Instance, o *world.Operation, force bool, timeout time.Duration, then func()) {
	switch {
	case !i.Running:
		finishOperation(o, c.World, c.LXD, operationError("The instance is already stopped"))
	case force && (i.Busy == "" || i.Busy == "stop"):
		i.Busy = ""
		c.finishStop(i, o, then)
	case i.Busy != "":
		finishOperation(o, c.World, c.LXD, busyError(i))
	case hasGuest(i, c.World):
		i.Busy = "stop"
		c.World.StartLXDJob(c.World.Latency.PowerOff, func() { c.finishStop(i, o, then) })
	case timeout <= 0:
		i.Busy = "stop"
		i.OnStopped = append(i.OnStopped, func() { finishOperation(o, c.World, c.LXD, nil) })
	default:
		i.Busy = "stop"
		c.World.AfterFunc(timeout, func() {
			if i.Running && i.Busy == "stop" {
				i.Busy = ""
			}
			finishOperation(o, c.World, c.LXD, operationError(`Failed shutting down instance, status is "Running": context deadline exceeded`))
		})
		i.OnStopped = append(i.OnStopped, func() { finishOperation(o, c.World, c.LXD, nil) })
	}
}

// finishStop ends the operation, and other operations that waited for the same stop.
func (c *Call) finishStop(i *world.Instance, o *world.Operation, then func()) {
	i.Busy, i.Running = "", false
	for _, f := range i.OnStopped {
		f()
	}
	i.OnStopped = nil
	if then != nil {
		then()
		return
	}
	finishOperation(o, c.World, c.LXD, nil)
}

// hasGuest tells whether a guest runs that can shut down: whether MAAS has booted one.
func hasGuest(i *world.Instance, w *world.World) bool {
	for _, m := range w.Machines {
		if m.HasInstance(i) {
			return slices.Contains([]world.Status{world.StatusDeployed, world.StatusDeploying, world.StatusCommissioning, world.StatusTesting}, m.Status)
		}
	}
	return false
}
