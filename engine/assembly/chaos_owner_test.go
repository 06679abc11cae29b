package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// owner is someone who wants VMs, and runs one program after the other to get
// them.
type owner struct {
	s      *schedule
	name   string
	prefix string   // of his keys
	names  []string // of all VMs that he may ever want
	dice   *rand.Rand
	book   *book
	lives  int

	mu     sync.Mutex
	wishes map[string]*wish   // by name; without one, there shall be none
	given  map[string]*wish   // up: they may come back
	known  map[string]*memory // what he remembers, as a Terraform state does
	unmet  map[string]error   // why a wish was not met when it was last tried
}

// wish is a wanted VM. Another spec is another wish: the VM is then replaced.
type wish struct{ spec engine.VMSpec }

// memory is what an owner knows of a VM that he made.
type memory struct {
	wish     *wish
	systemID string
	finished bool
	useless  bool // it will not get there, and is to be replaced
}

func (o *owner) key(name string) engine.Key { return engine.Key(o.prefix + "/" + name) }

// live changes his mind some times, and runs a program after each.
func (o *owner) live() {
	time.Sleep(time.Duration(o.dice.IntN(5000)) * time.Millisecond)
	for range 2 + o.dice.IntN(3) {
		o.reconsider()
		forget := o.dice.IntN(8) == 0
		before := o.remembered()
		l := o.begin(false)
		l.apply(o.endurance())
		if l.dead.Load() && forget {
			o.s.note(l.name, "the state was not saved")
			o.remember(before)
		}
		time.Sleep(time.Duration(o.dice.IntN(pick(o.dice, 1000, 40_000))) * time.Millisecond)
	}
}

// endurance is how long he lets a program run before he interrupts it.
func (o *owner) endurance() time.Duration {
	if o.dice.IntN(3) == 0 {
		return time.Duration(o.dice.IntN(pick(o.dice, 3000, 15_000))) * time.Millisecond
	}
	return time.Duration(3+o.dice.IntN(10)) * time.Minute
}

// reconsider makes, drops and changes wishes.
func (o *owner) reconsider() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range o.names {
		switch _, wanted := o.wishes[name]; {
		case !wanted && o.given[name] != nil && o.dice.IntN(3) == 0:
			o.wishes[name] = o.given[name]
			o.s.note(o.name, "wants %s again", name)
		case !wanted && o.dice.IntN(3) > 0, wanted && o.dice.IntN(5) == 0:
			o.wishes[name] = &wish{o.spec(name)}
			o.s.note(o.name, "wants %s: %s", name, describeSpec(o.wishes[name].spec))
		case wanted && o.dice.IntN(3) == 0:
			o.given[name] = o.wishes[name]
			delete(o.wishes, name)
			o.s.note(o.name, "wants no %s any more", name)
		}
	}
}

func (o *owner) spec(name string) engine.VMSpec {
	d := o.dice
	spec := engine.VMSpec{
		Name: name, Cores: 1 + d.IntN(2), MemoryMiB: int64(1+d.IntN(2)) * 1024,
		Disks: []engine.Disk{{Name: "root", SizeGB: int64(8 + d.IntN(8)), Pool: pick(d, "", "", "fast")}},
	}
	if d.IntN(3) > 0 {
		spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
	}
	if d.IntN(3) == 0 {
		spec.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan"}}
	}
	if d.IntN(3) == 0 {
		spec.Host = pick(d, o.s.model.Hosts...).Name
		return spec
	}
	spec.Placement = engine.Placement{
		Group: pick(d, "", "", o.name), Strategy: pick(d, "", placement.Spread, placement.Pack), Zone: pick(d, "", "", "", "az1"),
	}
	return spec
}

func describeSpec(s engine.VMSpec) string {
	return fmt.Sprintf("host %q, %+v, %d cores, %d MiB, %d GB in %q, deployed %t",
		s.Host, s.Placement, s.Cores, s.MemoryMiB, s.Disks[0].SizeGB, s.Disks[0].Pool, s.Deploy != nil)
}

func (o *owner) remembered() map[string]*memory {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := map[string]*memory{}
	for name, m := range o.known {
		copied := *m
		before[name] = &copied
	}
	return before
}

func (o *owner) remember(known map[string]*memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = known
}

// get returns what is wanted and what is known.
func (o *owner) get(name string) (*wish, *memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.known[name]; m != nil {
		return o.wishes[name], m
	}
	return o.wishes[name], &memory{}
}

// apply takes all VMs to where they shall be, side by side, and interrupts the
// program after a while. A program that dies saves nothing more.
func (l *life) apply(within time.Duration) {
	l.s.note(l.name, "applies within %s", within)
	ctx, cancel := context.WithTimeout(l.ctx, within)
	defer cancel()
	var wg sync.WaitGroup
	for n, name := range l.owner.names {
		wg.Go(func() {
			time.Sleep(time.Duration(n) * 1700 * time.Microsecond)
			err := l.reach(ctx, name)
			if l.dead.Load() {
				return
			}
			if err != nil {
				l.s.note(l.name, "%s: %v", name, err)
			}
			l.owner.mu.Lock()
			defer l.owner.mu.Unlock()
			l.owner.unmet[name] = err
		})
	}
	wg.Wait()
	l.end()
}

// save keeps what was learnt of a VM, unless the program is dead.
func (l *life) save(name string, m *memory) {
	if l.dead.Load() {
		return
	}
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	if m == nil {
		delete(l.owner.known, name)
		return
	}
	l.owner.known[name] = m
}

// reach is what a front end does for one VM.
func (l *life) reach(ctx context.Context, name string) error {
	want, m := l.owner.get(name)
	if want == nil || m.useless || m.systemID != "" && m.wish != want {
		if err := l.remove(ctx, name, m.systemID); err != nil || want == nil {
			return err
		}
		m = &memory{}
	}
	if m.systemID != "" {
		_, err := l.engine.VMs.Observe(ctx, l.ref(name, m))
		if errors.Is(err, engine.ErrNotFound) {
			l.s.note(l.name, "%s (%s) is gone", name, m.systemID)
			l.save(name, nil)
			m = &memory{}
		}
	}
	vm, err := engine.Wait(ctx, l.engine.VMs.Steps(l.ref(name, m), want.spec))
	switch {
	case vm.SystemID != "":
		l.save(name, &memory{
			wish: want, systemID: vm.SystemID, finished: m.finished || err == nil,
			useless: err != nil && ctx.Err() == nil && engine.IsTerminal(err) && !m.finished && !vm.Finished,
		})
	case errors.Is(err, engine.ErrConflict) && m.systemID == "":
		return l.takeBack(ctx, name, want, err)
	}
	return err
}

func (l *life) ref(name string, m *memory) engine.Ref {
	return engine.Ref{Key: l.owner.key(name), Name: name, SystemID: m.systemID, Finished: m.finished}
}

// takeBack does what the hint of a conflict says: it imports what is his, and
// removes what was begun otherwise.
func (l *life) takeBack(ctx context.Context, name string, want *wish, conflict error) error {
	var spec *engine.SpecError
	begun := errors.As(conflict, &spec) && spec.Field.String() != "name" // else the name is someone else's
	vm, err := l.engine.VMs.Observe(ctx, l.ref(name, &memory{}))
	switch {
	case err != nil || !vm.Ours && !begun:
		return conflict
	case vm.Finished:
		l.s.note(l.name, "imports %s as %s", name, vm.SystemID)
		l.save(name, &memory{wish: want, systemID: vm.SystemID, finished: true})
		return nil
	}
	l.s.note(l.name, "removes %s (%s), which was begun otherwise", name, vm.SystemID)
	if l.s.witness.begunFor(vm.SystemID) == want {
		l.s.wrong("%s goes not on with %s (%s), which it began: %v", l.name, name, vm.SystemID, conflict)
	}
	return errors.Join(conflict, l.remove(ctx, name, vm.SystemID))
}

func (l *life) remove(ctx context.Context, name, systemID string) error {
	key := l.owner.key(name)
	defer l.s.witness.deleting(key)()
	_, err := engine.Wait(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return l.engine.VMs.Delete(ctx, engine.Ref{Key: key, Name: name, SystemID: systemID})
	})
	if err == nil {
		l.save(name, nil)
	}
	return err
}
