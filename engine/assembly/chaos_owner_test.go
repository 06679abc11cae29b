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
	ledger *chaosLedger
	runs   int

	mu            sync.Mutex
	wishes        map[string]*wish    // by name; without one, there shall be none
	droppedWishes map[string]*wish    // up: they may come back
	known         map[string]*knownVM // what he remembers, as a Terraform state does
	lastErrors    map[string]error    // why a wish was not met when it was last tried
}

// wish is a wanted VM. Another spec is another wish: the VM is then replaced.
type wish struct{ spec engine.VMSpec }

// knownVM is what an owner knows of a VM that he made.
type knownVM struct {
	wish         *wish
	systemID     string
	finished     bool
	createFailed bool // it will not get there, and is to be replaced
}

func (o *owner) key(name string) engine.Key { return engine.Key(o.prefix + "/" + name) }

// runPrograms changes his mind some times, and runs a program after each.
func (o *owner) runPrograms() {
	time.Sleep(time.Duration(o.dice.IntN(5000)) * time.Millisecond)
	for range 2 + o.dice.IntN(3) {
		o.changeWishes()
		forget := o.dice.IntN(8) == 0
		before := o.copyKnown()
		l := o.startProgram(false)
		l.apply(o.runTimeout())
		if l.dead.Load() && forget {
			o.s.note(l.name, "the state was not saved")
			o.restoreKnown(before)
		}
		time.Sleep(time.Duration(o.dice.IntN(pickRandom(o.dice, 1000, 40_000))) * time.Millisecond)
	}
}

// runTimeout is how long he lets a program run before he interrupts it.
func (o *owner) runTimeout() time.Duration {
	if o.dice.IntN(3) == 0 {
		return time.Duration(o.dice.IntN(pickRandom(o.dice, 3000, 15_000))) * time.Millisecond
	}
	return time.Duration(3+o.dice.IntN(10)) * time.Minute
}

// changeWishes makes, drops and changes wishes.
func (o *owner) changeWishes() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range o.names {
		switch _, wanted := o.wishes[name]; {
		case !wanted && o.droppedWishes[name] != nil && o.dice.IntN(3) == 0:
			o.wishes[name] = o.droppedWishes[name]
			o.s.note(o.name, "wants %s again", name)
		case !wanted && o.dice.IntN(3) > 0, wanted && o.dice.IntN(5) == 0:
			o.wishes[name] = &wish{o.spec(name)}
			o.s.note(o.name, "wants %s: %s", name, describeSpec(o.wishes[name].spec))
		case wanted && o.dice.IntN(3) == 0:
			o.droppedWishes[name] = o.wishes[name]
			delete(o.wishes, name)
			o.s.note(o.name, "wants no %s any more", name)
		}
	}
}

func (o *owner) spec(name string) engine.VMSpec {
	d := o.dice
	spec := engine.VMSpec{
		Name: name, Cores: 1 + d.IntN(2), MemoryMiB: int64(1+d.IntN(2)) * 1024,
		Disks: []engine.Disk{{Name: "root", SizeGB: int64(8 + d.IntN(8)), Pool: pickRandom(d, "", "", "fast")}},
	}
	if d.IntN(3) > 0 {
		spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
	}
	if d.IntN(3) == 0 {
		spec.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan"}}
	}
	if d.IntN(3) == 0 {
		spec.Host = pickRandom(d, o.s.model.Hosts...).Name
		return spec
	}
	spec.Placement = engine.Placement{
		Group: pickRandom(d, "", "", o.name), Strategy: pickRandom(d, "", placement.Spread, placement.Pack), Zone: pickRandom(d, "", "", "", "az1"),
	}
	return spec
}

func describeSpec(s engine.VMSpec) string {
	return fmt.Sprintf("host %q, %+v, %d cores, %d MiB, %d GB in %q, deployed %t",
		s.Host, s.Placement, s.Cores, s.MemoryMiB, s.Disks[0].SizeGB, s.Disks[0].Pool, s.Deploy != nil)
}

func (o *owner) copyKnown() map[string]*knownVM {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := map[string]*knownVM{}
	for name, m := range o.known {
		copied := *m
		before[name] = &copied
	}
	return before
}

func (o *owner) restoreKnown(known map[string]*knownVM) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = known
}

// wishAndKnown returns what is wanted and what is known.
func (o *owner) wishAndKnown(name string) (*wish, *knownVM) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.known[name]; m != nil {
		return o.wishes[name], m
	}
	return o.wishes[name], &knownVM{}
}

// apply takes all VMs to where they shall be, side by side, and interrupts the
// program after a while. A program that dies saves nothing more.
func (l *programRun) apply(within time.Duration) {
	l.s.note(l.name, "applies within %s", within)
	ctx, cancel := context.WithTimeout(l.ctx, within)
	defer cancel()
	var wg sync.WaitGroup
	for n, name := range l.owner.names {
		wg.Go(func() {
			time.Sleep(time.Duration(n) * 1700 * time.Microsecond)
			err := l.applyVM(ctx, name)
			if l.dead.Load() {
				return
			}
			if err != nil {
				l.s.note(l.name, "%s: %v", name, err)
			}
			l.owner.mu.Lock()
			defer l.owner.mu.Unlock()
			l.owner.lastErrors[name] = err
		})
	}
	wg.Wait()
	l.end()
}

// save keeps what was learnt of a VM, unless the program is dead.
func (l *programRun) save(name string, m *knownVM) {
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

// applyVM is what a front end does for one VM.
func (l *programRun) applyVM(ctx context.Context, name string) error {
	want, m := l.owner.wishAndKnown(name)
	if want == nil || m.createFailed || m.systemID != "" && m.wish != want {
		if err := l.remove(ctx, name, m.systemID); err != nil || want == nil {
			return err
		}
		m = &knownVM{}
	}
	if m.systemID != "" {
		_, err := l.engine.VMs.Observe(ctx, l.ref(name, m))
		if errors.Is(err, engine.ErrNotFound) {
			l.s.note(l.name, "%s (%s) is gone", name, m.systemID)
			l.save(name, nil)
			m = &knownVM{}
		}
	}
	vm, err := engine.WaitUntilDone(ctx, l.engine.VMs.Steps(l.ref(name, m), want.spec))
	switch {
	case vm.SystemID != "":
		l.save(name, &knownVM{
			wish: want, systemID: vm.SystemID, finished: m.finished || err == nil,
			createFailed: err != nil && ctx.Err() == nil && engine.IsTerminal(err) && !m.finished && !vm.Finished,
		})
	case errors.Is(err, engine.ErrConflict) && m.systemID == "":
		return l.resolveConflict(ctx, name, want, err)
	}
	return err
}

func (l *programRun) ref(name string, m *knownVM) engine.Ref {
	return engine.Ref{Key: l.owner.key(name), Name: name, SystemID: m.systemID, Finished: m.finished}
}

// resolveConflict does what the hint of a conflict says: it imports what is his, and
// removes what was begun otherwise.
func (l *programRun) resolveConflict(ctx context.Context, name string, want *wish, conflict error) error {
	var spec *engine.SpecError
	begun := errors.As(conflict, &spec) && spec.Field.String() != "name" // else the name is someone else's
	vm, err := l.engine.VMs.Observe(ctx, l.ref(name, &knownVM{}))
	switch {
	case err != nil || !vm.Ours && !begun:
		return conflict
	case vm.Finished:
		l.s.note(l.name, "imports %s as %s", name, vm.SystemID)
		l.save(name, &knownVM{wish: want, systemID: vm.SystemID, finished: true})
		return nil
	}
	l.s.note(l.name, "removes %s (%s), which was begun otherwise", name, vm.SystemID)
	if l.s.witness.wishComposedFor(vm.SystemID) == want {
		l.s.failSchedule("%s goes not on with %s (%s), which it began: %v", l.name, name, vm.SystemID, conflict)
	}
	return errors.Join(conflict, l.remove(ctx, name, vm.SystemID))
}

func (l *programRun) remove(ctx context.Context, name, systemID string) error {
	key := l.owner.key(name)
	defer l.s.witness.noteDelete(key)()
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return l.engine.VMs.Delete(ctx, engine.Ref{Key: key, Name: name, SystemID: systemID})
	})
	if err == nil {
		l.save(name, nil)
	}
	return err
}
