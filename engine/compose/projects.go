package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine"
)

// hostProjects remembers the LXD projects of VM hosts. The project of a VM host cannot change.
// A machine that was released and deployed anew is another VM host with the same HostKey.
type hostProjects struct {
	flight singleflight.Group

	mu    sync.Mutex
	known map[registeredHost]string
}

// registeredHost is one VM host of MAAS, which never uses a number twice.
type registeredHost struct {
	key string // VMHost.HostKey
	id  int    // VMHost.ID
}

func registrationOf(h engine.VMHost) registeredHost { return registeredHost{h.HostKey, h.ID} }

func newHostProjects() *hostProjects { return &hostProjects{known: map[registeredHost]string{}} }

// readProjects returns the project of each host, by HostKey, if a project is wanted. A host
// that is gone meanwhile has none.
func (p *hostProjects) readProjects(ctx context.Context, registrar engine.Registrar, hosts []engine.VMHost) (map[string]string, error) {
	found := map[string]string{}
	var reads errgroup.Group
	reads.SetLimit(8)
	for _, h := range hosts {
		p.mu.Lock()
		project, ok := p.known[registrationOf(h)]
		p.mu.Unlock()
		if h.Project != "" {
			project, ok = h.Project, true
		}
		if ok {
			found[h.HostKey] = project
			continue
		}
		reads.Go(func() error {
			project, err := p.readProject(ctx, registrar, h)
			if errors.Is(err, engine.ErrNotFound) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("cannot read the project of VM host %s: %w", h.Name, err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.known[registrationOf(h)] = project
			return nil
		})
	}
	err := reads.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hosts {
		if project, ok := p.known[registrationOf(h)]; ok {
			found[h.HostKey] = project
		}
	}
	return found, err
}

// readProject reads the project of a host, once for all concurrent callers.
func (p *hostProjects) readProject(ctx context.Context, registrar engine.Registrar, h engine.VMHost) (string, error) {
	asked := p.flight.DoChan(fmt.Sprint(registrationOf(h)), func() (any, error) {
		e, err := registrar.Endpoint(context.WithoutCancel(ctx), h)
		return e.Project, err
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case answer := <-asked:
		return answer.Val.(string), answer.Err
	}
}

// ProjectOf is the LXD project of a VM. Where MAAS makes the VMs, it takes one call for each
// host. ErrConflict for a machine that is on no host; empty if the host is gone meanwhile.
func (f *Finder) ProjectOf(ctx context.Context, m engine.Machine) (string, error) {
	host, err := f.HostOf(ctx, m)
	if err != nil || host.Project != "" {
		return host.Project, err
	}
	projects, err := f.projects.readProjects(ctx, f.Registrar, []engine.VMHost{host})
	return projects[host.HostKey], err
}

// FindHostProjects returns the project of each host, and refuses a project that none has: that
// is a typing error rather than missing room.
func (f *Finder) FindHostProjects(ctx context.Context, hosts []engine.VMHost, wanted string) (map[string]string, error) {
	if wanted == "" || len(hosts) == 0 {
		return nil, nil
	}
	projects, err := f.projects.readProjects(ctx, f.Registrar, hosts)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, project := range projects {
		have = append(have, project)
	}
	if slices.Contains(have, wanted) {
		return projects, nil
	}
	slices.Sort(have)
	return nil, engine.MarkTerminal(&engine.Error{
		Type: engine.ProjectNotFound, Message: fmt.Sprintf("no VM host makes VMs in the project %q", wanted),
		Hint: "The projects are: " + strings.Join(slices.Compact(have), ", ") + ". Name one of them, or register the LXD once more with this project.",
	})
}
