package lxd

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// serverSurvey is a server with what it showed.
type serverSurvey struct {
	Server
	tag              engine.Tag // the ledger's tag from before the server was asked
	askedAt          time.Time  // when it was asked
	changes          int        // number of changes of the host before it was asked
	err              error      // why it showed nothing
	shownFingerprint string     // fingerprint of its certificate
	version          string
	// bootMode reports that VMs have boot.mode instead of security.secureboot.
	bootMode bool

	architectures []string // LXD's names: "x86_64"
	cores         int64
	memoryBytes   int64
	hugePages     engine.Amount // in bytes: reserved for huge pages, and in use
	pools         []pool
	networks      map[string]bool // by name: whether LXD manages it
	profiles      []string
	// profileDevices are the device types by profile and device name.
	profileDevices map[string]map[string]string
	projects       []string // those that the certificate may see
	instances      []instance
	volumeBytes    map[string]int64 // sizes of volumes, by volumeID
}

type pool struct {
	name, driver          string
	totalBytes, usedBytes int64
	promisedBytes         int64 // sum of the sizes of its disks
}

// fillSurvey fills in what the server shows. A restricted client sees names, sizes and
// usage. It does not see the config of pools and networks, and sees only its own projects.
func (s *session) fillSurvey(h *serverSurvey) error {
	var info api.Server
	if _, err := s.get("/1.0", &info); err != nil {
		return err
	}
	if err := s.target.checkUsable(&info); err != nil {
		return err
	}
	h.version, h.architectures = info.Environment.ServerVersion, info.Environment.Architectures
	h.bootMode = hasBootMode(info)
	var resources api.Resources
	if _, err := s.get("/1.0/resources", &resources); err != nil {
		return err
	}
	h.cores, h.memoryBytes = int64(resources.CPU.Total), int64(resources.Memory.Total)
	h.hugePages = engine.Amount{Total: int64(resources.Memory.HugepagesTotal), Used: int64(resources.Memory.HugepagesUsed)}
	var err error
	if h.projects, err = s.listProjects(); err != nil {
		return err
	}
	if err := s.surveyProject(h); err != nil {
		return err
	}
	if err := s.surveyPools(h); err != nil {
		return err
	}
	return s.surveyInstances(h)
}

// listProjects returns the projects that the certificate may see. Ours must be among them.
func (s *session) listProjects() ([]string, error) {
	var urls []string
	if _, err := s.get("/1.0/projects", &urls); err != nil {
		return nil, err
	}
	names := make([]string, len(urls))
	for n, u := range urls {
		names[n] = nameInURL(u)
	}
	if !slices.Contains(names, s.target.project) {
		return nil, s.target.projectMissingError(api.StatusErrorf(404, "%s", s.target.project))
	}
	return names, nil
}

// nameInURL returns the name at the end of one of LXD's URLs.
func nameInURL(u string) string {
	u, _, _ = strings.Cut(u, "?")
	name := u[strings.LastIndex(u, "/")+1:]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// surveyProject reads the networks and profiles that VMs of the project can use.
func (s *session) surveyProject(h *serverSurvey) error {
	var networks []api.Network
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "networks"), &networks); err != nil {
		return s.target.projectMissingError(err)
	}
	h.networks = map[string]bool{}
	for _, n := range networks {
		h.networks[n.Name] = n.Managed
	}
	var profiles []api.Profile
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "profiles"), &profiles); err != nil {
		return s.target.projectMissingError(err)
	}
	h.profileDevices = map[string]map[string]string{}
	for _, p := range profiles {
		h.profiles, h.profileDevices[p.Name] = append(h.profiles, p.Name), map[string]string{}
		for name, d := range p.Devices {
			h.profileDevices[p.Name][name] = d["type"]
		}
	}
	return nil
}

func (s *session) surveyPools(h *serverSurvey) error {
	var pools []api.StoragePool
	if _, err := s.get("/1.0/storage-pools?recursion=1", &pools); err != nil {
		return err
	}
	for _, p := range pools {
		if p.Status != "" && p.Status != api.StoragePoolStatusCreated {
			continue // it is broken, or not made yet
		}
		var resources api.ResourcesStoragePool
		if _, err := s.get("/1.0/storage-pools/"+url.PathEscape(p.Name)+"/resources", &resources); err != nil {
			return err
		}
		h.pools = append(h.pools, pool{
			name: p.Name, driver: p.Driver,
			totalBytes: int64(resources.Space.Total), usedBytes: int64(resources.Space.Used),
		})
	}
	return nil
}

// listInstances returns the instances of the projects.
func (s *session) listInstances(projects []string) ([]instance, error) {
	var found []instance
	for _, project := range projects {
		there := s.inProject(project)
		var instances []api.Instance
		if _, err := s.get(there.projectQuery(url.Values{"recursion": {"1"}}, "instances"), &instances); err != nil {
			return nil, err
		}
		for _, i := range instances {
			found = append(found, newInstance(i, project))
		}
	}
	return found, nil
}

// inProject returns the session for another project.
func (s *session) inProject(project string) *session {
	there := *s
	there.target.project = project
	return &there
}

// surveyInstances adds up what the instances of all visible projects may use. LXD does not
// list the sizes of volumes with their instances.
func (s *session) surveyInstances(h *serverSurvey) (err error) {
	if h.instances, err = s.listInstances(h.projects); err != nil {
		return err
	}
	h.volumeBytes = map[string]int64{}
	volumes, counted := map[string][]string{}, map[string]bool{} // projects can share their volumes
	for _, i := range h.instances {
		for name, size := range i.rootBytes {
			h.addPromised(name, size)
		}
		for _, name := range i.volumePools {
			if !slices.Contains(volumes[i.project], name) {
				volumes[i.project] = append(volumes[i.project], name)
			}
		}
	}
	for project, names := range volumes {
		for _, name := range names {
			if err := s.inProject(project).surveyVolumes(h, name, counted); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) surveyVolumes(h *serverSurvey, pool string, counted map[string]bool) error {
	var volumes []api.StorageVolume
	if _, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "storage-pools", pool, "volumes", "custom"), &volumes); err != nil {
		return err
	}
	for _, v := range volumes {
		h.volumeBytes[volumeID(s.target.project, pool, v.Name)] = parseBytes(v.Config["size"])
		id := pool + "/" + v.Project + "/" + v.Name
		if !counted[id] {
			counted[id] = true
			h.addPromised(pool, parseBytes(v.Config["size"]))
		}
	}
	return nil
}

// volumeID identifies a volume by the names that instances of a project use.
func volumeID(project, pool, name string) string { return project + "/" + pool + "/" + name }

func (h *serverSurvey) addPromised(name string, size int64) {
	for n := range h.pools {
		if h.pools[n].name == name {
			h.pools[n].promisedBytes += size
		}
	}
}

// vmHost returns the server as an engine.VMHost.
func (h serverSurvey) vmHost() engine.VMHost {
	made := engine.VMHost{
		Name: h.Name, MachineID: h.MachineID, HostKey: h.MachineID, Version: h.version, Zone: h.Zone, Pool: h.Pool, Project: h.Project,
		Tags: slices.Sorted(slices.Values(h.Tags)), Err: h.err,
		CPUOvercommit: cmp.Or(h.CPUOvercommit, 1), MemoryOvercommit: cmp.Or(h.MemoryOvercommit, 1),
	}
	if h.err != nil {
		return made
	}
	made.HasBootMode = h.bootMode
	made.ServerFingerprint, made.Profiles = h.shownFingerprint, slices.Sorted(slices.Values(h.profiles))
	made.Cores, made.MemoryMiB = engine.Amount{Total: h.cores}, engine.Amount{Total: h.memoryBytes / bytesPerMiB}
	made.HugePagesMiB = engine.Amount{Total: h.hugePages.Total / bytesPerMiB, Used: h.usedHugePagesMiB()}
	for _, i := range h.instances {
		made.Cores.Used += i.cores
		made.MemoryMiB.Used += i.memoryMiB(h.memoryBytes)
	}
	if a := h.maasArchitecture(); a != "" {
		made.Architectures = []string{a}
	}
	standard := h.defaultPool()
	for _, p := range h.pools {
		made.StoragePools = append(made.StoragePools, engine.StoragePool{
			Name: p.name, Driver: p.driver, TotalBytes: p.totalBytes, AvailableBytes: p.availableBytes(), Default: p.name == standard,
		})
	}
	return made
}

// usedHugePagesMiB returns the huge pages that are in use or will be. LXD shows those in
// use, including those of other programs. A stopped VM needs its huge pages when it starts.
// A VM that starts or stops during the survey may be missing from one of the two sums, so
// the larger sum counts.
func (h serverSurvey) usedHugePagesMiB() int64 {
	var all, off int64
	for _, i := range h.instances {
		if !i.hugePages {
			continue
		}
		mib := i.memoryMiB(h.memoryBytes)
		all += mib
		if i.status == api.Stopped {
			off += mib
		}
	}
	return max(all, h.hugePages.Used/bytesPerMiB+off)
}

// availableBytes returns the bytes that are neither used nor promised to disks that can
// still grow. Other files in the same file system count only where they exceed the promised
// bytes.
func (p pool) availableBytes() int64 { return max(0, p.totalBytes-max(p.usedBytes, p.promisedBytes)) }

func (h serverSurvey) poolNames() []string {
	names := make([]string, len(h.pools))
	for n, p := range h.pools {
		names[n] = p.name
	}
	return names
}

// defaultPool returns the pool for disks that name none; empty if there is no pool.
func (h serverSurvey) defaultPool() string {
	names := h.poolNames()
	for _, name := range []string{h.DefaultStoragePool, "default"} {
		if slices.Contains(names, name) {
			return name
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// maasArchitectures maps LXD's names of architectures to MAAS's.
var maasArchitectures = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el", "s390x": "s390x", "riscv64": "riscv64",
}

// maasArchitecture returns MAAS's name of the VMs' architecture. LXD lists its own
// architecture first.
func (h serverSurvey) maasArchitecture() string {
	if h.Architecture != "" || len(h.architectures) == 0 {
		return h.Architecture
	}
	if name, ok := maasArchitectures[h.architectures[0]]; ok {
		return name + "/generic"
	}
	return ""
}
