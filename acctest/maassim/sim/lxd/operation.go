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

// operationKept is how long LXD knows an operation that is over.
const operationKept = 5 * time.Second

func operationRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/operations", InProject, listOperations},
		{http.MethodGet, "1.0/operations/{id}", trusted, readOperation},
		{http.MethodDelete, "1.0/operations/{id}", trusted, cancelOperation},
		{http.MethodGet, "1.0/operations/{id}/wait", trusted, awaitOperation},
	}
}

func operationPath(o *world.Operation) string { return "/1.0/operations/" + o.ID }

// begin notes an operation that runs from now on.
func (c *Call) begin(class, description string, resources map[string][]string) *world.Operation {
	now := time.Now()
	o := &world.Operation{Project: c.Project, Ended: make(chan struct{}), Operation: api.Operation{
		ID: world.NewRandomUUID(), Class: class, Description: description, CreatedAt: now, UpdatedAt: now,
		Status: api.Running.String(), StatusCode: api.Running, Resources: resources, Location: "none",
	}}
	o.Begun = o.Operation
	c.LXD.Operations[o.ID] = o
	tellWatchers(c.LXD, o)
	return o
}

// finishOperation ends the operation, well or with an error, once.
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
	tellWatchers(l, o)
	w.After(operationKept, func() { delete(l.Operations, o.ID) })
}

// task is an operation that takes a time and then acts.
func (c *Call) task(description string, resources map[string][]string, took time.Duration, act func() error) rest.Reply {
	o := c.begin(api.OperationClassTask, description, resources)
	c.World.StartOrphan(took, func() { finishOperation(o, c.World, c.LXD, act()) })
	return started(o)
}

// instanceTask is a task on an instance.
func (c *Call) instanceTask(description, name string, took time.Duration, act func() error) rest.Reply {
	return c.task(description, map[string][]string{"instances": {c.inProject("/1.0/instances/" + name)}}, took, act)
}

// inProject is a path with its project, as LXD writes it.
func (c *Call) inProject(path string) string {
	if c.Project == "default" {
		return path
	}
	return path + "?project=" + c.Project
}

// sees says whether the client may see the operation.
func (c *Call) sees(o *world.Operation) bool { return c.trust.Allows(o.Project) }

func (c *Call) operation() (*world.Operation, *rest.Reply) {
	o := c.LXD.Operations[c.Vars["id"]]
	if o == nil || !c.sees(o) {
		bad := missing("Operation")
		return nil, &bad
	}
	return o, nil
}

func readOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	return synced(o.Operation)
}

func listOperations(c *Call) rest.Reply {
	byStatus, paths := map[string][]api.Operation{}, map[string][]string{}
	for _, o := range rest.Sorted(c.LXD.Operations) {
		if !c.sees(o) || !c.everything() && o.Project != c.Project {
			continue
		}
		status := statusKeys[o.StatusCode]
		byStatus[status], paths[status] = append(byStatus[status], o.Operation), append(paths[status], operationPath(o))
	}
	if c.depth() == "1" {
		return synced(byStatus)
	}
	return synced(paths)
}

// statusKeys are LXD's names of states in lists.
var statusKeys = map[api.StatusCode]string{api.Running: "running", api.Success: "success", api.Failure: "failure", api.Cancelled: "cancelled"}

// cancelOperation: of those that are here only a token can be cancelled.
func cancelOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	if o.Class != api.OperationClassToken || o.StatusCode.IsFinal() {
		return Bad("Only running operations can be cancelled")
	}
	finishOperation(o, c.World, c.LXD, context.Canceled)
	return done()
}

// awaitOperation answers when the operation is over, or after timeout seconds
// with what it is then; -1 is no limit.
func awaitOperation(c *Call) rest.Reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	seconds, err := strconv.Atoi(cmp.Or(c.Query.Get("timeout"), "-1"))
	if err != nil {
		return Bad("%v", err)
	}
	ctx, cancel := c.Ctx, context.CancelFunc(func() {})
	if seconds >= 0 {
		ctx, cancel = context.WithTimeout(c.Ctx, time.Duration(seconds)*time.Second)
	}
	defer cancel()
	c.leave(ctx, o.Ended)
	return synced(o.Operation)
}
