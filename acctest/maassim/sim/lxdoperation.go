package sim

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/canonical/lxd/shared/api"
)

// operation is what an LXD does in the background. LXD forgets it five seconds
// after its end.
type operation struct {
	api.Operation
	project string
	begun   api.Operation // as the call that began it was told
	ended   chan struct{}
}

// operationKept is how long LXD knows an operation that is over.
const operationKept = 5 * time.Second

func lxdOperationRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/operations", lxdInProject, listOperations},
		{http.MethodGet, "1.0/operations/{id}", lxdTrusted, readOperation},
		{http.MethodDelete, "1.0/operations/{id}", lxdTrusted, cancelOperation},
		{http.MethodGet, "1.0/operations/{id}/wait", lxdTrusted, awaitOperation},
	}
}

func (o *operation) path() string { return "/1.0/operations/" + o.ID }

// begin notes an operation that runs from now on.
func (c *lxdCall) begin(class, description string, resources map[string][]string) *operation {
	now := time.Now()
	o := &operation{project: c.project, ended: make(chan struct{}), Operation: api.Operation{
		ID: newRandomUUID(), Class: class, Description: description, CreatedAt: now, UpdatedAt: now,
		Status: api.Running.String(), StatusCode: api.Running, Resources: resources, Location: "none",
	}}
	o.begun = o.Operation
	c.l.operations[o.ID] = o
	c.l.tell(o)
	return o
}

// finish ends the operation, well or with an error, once.
func (o *operation) finish(w *world, l *lxdServer, err error) {
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
	close(o.ended)
	l.tell(o)
	w.after(operationKept, func() { delete(l.operations, o.ID) })
}

// task is an operation that takes a time and then acts.
func (c *lxdCall) task(description string, resources map[string][]string, took time.Duration, act func() error) reply {
	o := c.begin(api.OperationClassTask, description, resources)
	c.w.orphan(took, func() { o.finish(c.w, c.l, act()) })
	return started(o)
}

// instanceTask is a task on an instance.
func (c *lxdCall) instanceTask(description, name string, took time.Duration, act func() error) reply {
	return c.task(description, map[string][]string{"instances": {c.inProject("/1.0/instances/" + name)}}, took, act)
}

// inProject is a path with its project, as LXD writes it.
func (c *lxdCall) inProject(path string) string {
	if c.project == "default" {
		return path
	}
	return path + "?project=" + c.project
}

// sees says whether the client may see the operation.
func (c *lxdCall) sees(o *operation) bool { return c.trust.allows(o.project) }

func (c *lxdCall) operation() (*operation, *reply) {
	o := c.l.operations[c.vars["id"]]
	if o == nil || !c.sees(o) {
		bad := lxdMissing("Operation")
		return nil, &bad
	}
	return o, nil
}

func readOperation(c *lxdCall) reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	return synced(o.Operation)
}

func listOperations(c *lxdCall) reply {
	byStatus, paths := map[string][]api.Operation{}, map[string][]string{}
	for _, o := range sorted(c.l.operations) {
		if !c.sees(o) || !c.everything() && o.project != c.project {
			continue
		}
		status := statusKeys[o.StatusCode]
		byStatus[status], paths[status] = append(byStatus[status], o.Operation), append(paths[status], o.path())
	}
	if c.depth() == "1" {
		return synced(byStatus)
	}
	return synced(paths)
}

// statusKeys are LXD's names of states in lists.
var statusKeys = map[api.StatusCode]string{api.Running: "running", api.Success: "success", api.Failure: "failure", api.Cancelled: "cancelled"}

// cancelOperation: of those that are here only a token can be cancelled.
func cancelOperation(c *lxdCall) reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	if o.Class != api.OperationClassToken || o.StatusCode.IsFinal() {
		return lxdBad("Only running operations can be cancelled")
	}
	o.finish(c.w, c.l, context.Canceled)
	return done()
}

// awaitOperation answers when the operation is over, or after timeout seconds
// with what it is then; -1 is no limit.
func awaitOperation(c *lxdCall) reply {
	o, bad := c.operation()
	if bad != nil {
		return *bad
	}
	seconds, err := strconv.Atoi(or(c.query.Get("timeout"), "-1"))
	if err != nil {
		return lxdBad("%v", err)
	}
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if seconds >= 0 {
		ctx, cancel = context.WithTimeout(c.ctx, time.Duration(seconds)*time.Second)
	}
	defer cancel()
	c.leave(ctx, o.ended)
	return synced(o.Operation)
}
