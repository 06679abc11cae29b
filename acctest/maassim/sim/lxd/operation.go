package lxd

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// operationRetention is how long LXD keeps an operation that has ended.
const operationRetention = 5 * time.Second

func operationRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/operations", AccessInProject, listOperations},
		{http.MethodGet, "1.0/operations/{id}", accessTrusted, readOperation},
		{http.MethodDelete, "1.0/operations/{id}", accessTrusted, cancelOperation},
		{http.MethodGet, "1.0/operations/{id}/wait", accessTrusted, awaitOperation},
	}
}

func operationPath(o *world.Operation) string { return "/1.0/operations/" + o.ID }

// beginOperation adds an operation that runs from now on.
func (c *Call) beginOperation(class, description string, resources map[string][]string) *world.Operation {
	now := time.Now()
	o := &world.Operation{Project: c.Project, Ended: make(chan struct{}), Operation: api.Operation{
		ID: world.NewRandomUUID(), Class: class, Description: description, CreatedAt: now, UpdatedAt: now,
		Status: api.Running.String(), StatusCode: api.Running, Resources: resources, Location: "none",
	}}
	o.Begun = o.Operation
	c.LXD.Operations[o.ID] = o
	sendToWatchers(c.LXD, o)
	return o
}

// finishOperation ends the operation once, with or without an error.
func finishOperation(o *world.Operation, w *world.World, l *world.LXD, err error) {
	if o.StatusCode.IsFinal() {
		return
	}
	o.StatusCode, o.UpdatedAt = api.Success, time.Now()
	switch {
	case errors.Is(err, context.Canceled):
		o.StatusCode, o.Err = api.Cancelled, "Operation cancelled"
	case err != nil:
		o.StatusCode, o.Err = api.Failure, err.Error()
	}
	o.Status = o.StatusCode.String()
	close(o.Ended)
	sendToWatchers(l, o)
	w.AfterFunc(operationRetention, func() { delete(l.Operations, o.ID) })
}

// startTask starts an operation that takes some time and then acts.
func (c *Call) startTask(description string, resources map[string][]string, took time.Duration, act func() error) rest.Reply {
	o := c.beginOperation(api.OperationClassTask, description, resources)
	c.World.StartLXDJob(took, func() { finishOperation(o, c.World, c.LXD, act()) })
	return operationReply(o)
}

// startInstanceTask starts a task on an instance.
func (c *Call) startInstanceTask(description, name string, took time.Duration, act func() error) rest.Reply {
	return c.startTask(description, map[string][]string{"instances": {c.inProject("/1.0/instances/" + name)}}, took, act)
}

// inProject adds the project to a path, as LXD writes it.
func (c *Call) inProject(path string) string {
	if c.Project == "default" {
		return path
	}
	return path + "?project=" + c.Project
}

// canSee tells whether the client may see the operation.
func (c *Call) canSee(o *world.Operation) bool { return c.trust.AllowsProject(o.Project) }

func (c *Call) operation() (*world.Operation, *rest.Reply) {
	o := c.LXD.Operations[c.Vars["id"]]
	if o == nil || !c.canSee(o) {
		bad := notFoundReply("Operation")
		return nil, &bad
	}
	return o, nil
}

func readOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	return syncReply(o.Operation)
}

func listOperations(c *Call) rest.Reply {
	byStatus, paths := map[string][]api.Operation{}, map[string][]string{}
	for _, o := range rest.SortedValues(c.LXD.Operations) {
		if !c.canSee(o) || !c.wantsAllProjects() && o.Project != c.Project {
			continue
		}
		status := statusKeys[o.StatusCode]
		byStatus[status], paths[status] = append(byStatus[status], o.Operation), append(paths[status], operationPath(o))
	}
	if c.recursion() == "1" {
		return syncReply(byStatus)
	}
	return syncReply(paths)
}

// statusKeys are the names of LXD's states in lists.
var statusKeys = map[api.StatusCode]string{api.Running: "running", api.Success: "success", api.Failure: "failure", api.Cancelled: "cancelled"}

// cancelOperation cancels a token. LXD cannot cancel any other simulated operation.
func cancelOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	if o.Class != api.OperationClassToken || o.StatusCode.IsFinal() {
		return BadRequestReply("Only running operations can be cancelled")
	}
	finishOperation(o, c.World, c.LXD, context.Canceled)
	return doneReply()
}

// awaitOperation answers when the operation has ended, or after timeout seconds with its
// current state. A timeout of -1 is no limit.
func awaitOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	seconds, err := strconv.Atoi(cmp.Or(c.Query.Get("timeout"), "-1"))
	if err != nil {
		return BadRequestReply("%v", err)
	}
	ctx, cancel := c.Ctx, context.CancelFunc(func() {})
	if seconds >= 0 {
		ctx, cancel = context.WithTimeout(c.Ctx, time.Duration(seconds)*time.Second)
	}
	defer cancel()
	c.waitUnlocked(ctx, o.Ended)
	return syncReply(o.Operation)
}
