package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// faultSet are the added faults in their order.
type faultSet struct {
	*region
	lastID int
	list   []*Fault
	rand   *rand.Rand
}

// init starts without faults.
func (all *faultSet) init(seed int64) {
	all.lastID, all.list, all.rand = 0, nil, rand.New(rand.NewPCG(uint64(seed), 2))
}

// AddFault adds a fault and returns its id. It panics if the fault is invalid, because
// then the test is wrong.
func (all *faultSet) AddFault(f Fault) int {
	id, err := all.addFault(f)
	if err != nil {
		panic("sim: AddFault: " + err.Error())
	}
	return id
}

func (all *faultSet) addFault(f Fault) (int, error) {
	if err := f.check(); err != nil {
		return 0, fmt.Errorf("cannot add the fault: %w", err)
	}
	all.keeper.Lock()
	defer all.keeper.Unlock()
	all.lastID++
	f.ID, f.Matched, f.Struck = all.lastID, 0, 0
	all.list = append(all.list, &f)
	return f.ID, nil
}

// RemoveFault removes a fault. Removing an unknown one is no error.
func (all *faultSet) RemoveFault(id int) {
	all.keeper.Lock()
	defer all.keeper.Unlock()
	all.list = slices.DeleteFunc(all.list, func(f *Fault) bool { return f.ID == id })
}

// ClearFaults removes all faults.
func (all *faultSet) ClearFaults() {
	all.keeper.Lock()
	defer all.keeper.Unlock()
	all.list = nil
}

// Faults are the current faults with their counts.
func (all *faultSet) Faults() []Fault {
	all.keeper.Lock()
	defer all.keeper.Unlock()
	out := []Fault{}
	for _, f := range all.list {
		out = append(out, *f)
	}
	return out
}

// callPlan is the effect of the faults on one call.
type callPlan struct {
	delay         time.Duration
	before, after *Fault
	entry         *entry
}

// planCall counts the call for each matching fault. It keeps the first fault before the
// effect, and the first one after it.
func (all *faultSet) planCall(c *request.Call) callPlan {
	var p callPlan
	for _, f := range all.list {
		if !f.matchesCall(c) {
			continue
		}
		f.Matched++
		if !f.drawStrike(all.rand) {
			continue
		}
		f.Struck++
		p.delay += f.Delay
		hit := *f
		switch {
		case f.Kind == FaultDelay:
		case f.When == FaultAfterEffect && p.after == nil:
			p.after = &hit
		case f.When != FaultAfterEffect && p.before == nil:
			p.before = &hit
		}
	}
	return p
}

func (f *Fault) drawStrike(r *rand.Rand) bool {
	switch {
	case f.Nth > 0 && f.Matched != f.Nth:
	case f.Times > 0 && f.Struck >= f.Times:
	case f.Probability > 0 && r.Float64() >= f.Probability:
	default:
		return true
	}
	return false
}

func (f *Fault) matchesCall(c *request.Call) bool {
	switch {
	case c.LXD != strings.HasPrefix(f.Path, lxdPathPrefix):
	case c.Pattern == "" && f.Path != "":
	case f.Method != "" && !strings.EqualFold(f.Method, c.Method):
	case f.Op == "-" && c.Op != "":
	case f.Op != "" && f.Op != "-" && f.Op != c.Op:
	case f.Path != "" && !matchesPath(f.Path, callPath(c)):
	case f.Object != "" && !isAbout(c, f.Object):
	default:
		return true
	}
	return false
}

// matchesPath compares a path with a pattern. A * in the pattern is any one part.
func matchesPath(pattern, path string) bool {
	want := strings.Split(strings.Trim(strings.TrimPrefix(pattern, rest.APIRoot), "/"), "/")
	have := strings.Split(strings.Trim(path, "/"), "/")
	if last := len(want) - 1; want[last] == "**" && len(have) >= len(want) {
		want, have = want[:last], have[:last]
	}
	return len(want) == len(have) && !slices.ContainsFunc(slices.Collect(indexes(want)), func(i int) bool {
		return want[i] != "*" && want[i] != have[i]
	})
}

func indexes(parts []string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range parts {
			if !yield(i) {
				return
			}
		}
	}
}

// callPath is the call's path below the API's root.
func callPath(c *request.Call) string {
	path := c.Pattern
	for name, value := range c.Vars {
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	return path
}

// isAbout tells whether the call concerns an object with that id or name.
func isAbout(c *request.Call, object string) bool {
	for _, value := range c.Vars {
		if value == object {
			return true
		}
		if m := c.World.Machines[value]; m != nil && m.Hostname == object {
			return true
		}
		if h := c.World.HostNamed(object); h != nil && strconv.Itoa(h.ID) == value {
			return true
		}
	}
	return c.Method != http.MethodGet && c.Field("hostname") == object
}
