package world

// AddZone makes a zone.
func (w *World) AddZone(name, description string) *Zone {
	z := &Zone{ID: w.NextID("zone"), Name: name, Description: description}
	w.Zones[z.ID] = z
	return z
}

// AddPool makes a resource pool.
func (w *World) AddPool(name, description string) *Pool {
	p := &Pool{ID: w.NextID("pool"), Name: name, Description: description}
	w.Pools[p.ID] = p
	return p
}

// AddDomain makes a DNS domain.
func (w *World) AddDomain(name string) *Domain {
	d := &Domain{ID: w.NextID("domain"), Name: name, Authoritative: true}
	w.Domains[d.ID] = d
	return d
}

// EnsureTag makes the tag unless it exists.
func (w *World) EnsureTag(name string) *Tag {
	if w.Tags[name] == nil {
		w.Tags[name] = &Tag{Name: name}
	}
	return w.Tags[name]
}

// DefaultZone is the zone of objects without another one.
func (w *World) DefaultZone() *Zone { return w.Zones[1] }

// Zone is an availability zone.
type Zone struct {
	ID                int
	Name, Description string
}

// Pool is a resource pool.
type Pool struct {
	ID                int
	Name, Description string
}

// Domain is a DNS domain.
type Domain struct {
	ID            int
	Name          string
	TTL           *int
	Authoritative bool
}

// Tag is a machine tag. Machines carry tags by name.
type Tag struct {
	Name, Comment, KernelOpts, Definition string
}

// MachineNamed is the machine with a hostname, or nil.
func (w *World) MachineNamed(hostname string) *Machine {
	for _, m := range w.Machines {
		if m.Hostname == hostname {
			return m
		}
	}
	return nil
}

// ZoneNamed is the zone with a name, or nil.
func (w *World) ZoneNamed(name string) *Zone {
	for _, z := range w.Zones {
		if z.Name == name {
			return z
		}
	}
	return nil
}

// PoolNamed is the resource pool with a name, or nil.
func (w *World) PoolNamed(name string) *Pool {
	for _, p := range w.Pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// DomainNamed is the domain with a name, or nil.
func (w *World) DomainNamed(name string) *Domain {
	for _, d := range w.Domains {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// DefaultDomain is the domain of objects that name none.
func (w *World) DefaultDomain() *Domain { return w.Domains[w.DefaultDomainID] }

// HostNamed is the VM host with a name, or nil.
func (w *World) HostNamed(name string) *VMHost {
	for _, h := range SortedHosts(w.Hosts) {
		if h.Name == name {
			return h
		}
	}
	return nil
}
