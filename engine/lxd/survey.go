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
	tag              engine.Tag // of the ledger, before the server was asked
	askedAt          time.Time  // when it was asked
	changes          int        // of the host until then
	err              error      // why it showed nothing
	shownFingerprint string     // fingerprint of its certificate
	version          string
	// bootMode: VMs have boot.mode in the place of security.secureboot.
	bootMode bool

	architectures []string // LXD's names: "x86_64"
	cores         int64
	memoryBytes   int64
	hugePages     engine.Amount // bytes that are set aside, and in use
	pools         []pool
	networks      map[string]bool // by name: managed by LXD
	profiles      []string
	// profileDevices are the types of the devices that a profile brings, by its name and theirs.
	profileDevices map[string]map[string]string
	projects       []string // that the certificate may see
	instances      []instance
	volumeBytes    map[string]int64 // sizes of volumes, by volumeID
}

type pool struct {
	name, driver          string
	totalBytes, usedBytes int64
	promisedBytes         int64 // sizes of the disks in it
}

// fillSurvey fills in what the server shows. A restricted client sees names, sizes
// and what is used, but no configuration of pools and networks, and only its
// own projects.
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

// listProjects are the ones that the certificate may see; ours must be among them.
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

// nameInURL is the name at the end of one of LXD's URLs.
func nameInURL(u string) string {
	u, _, _ = strings.Cut(u, "?")
	name := u[strings.LastIndex(u, "/")+1:]
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// surveyProject reads what VMs of the project can be given.
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

// listInstances lists those of the projects.
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

// inProject is the session in another project.
func (s *session) inProject(project string) *session {
	there := *s
	there.target.project = project
	return &there
}

// surveyInstances counts what the instances of all visible projects may take.
// The sizes of volumes are not told with the instances that they belong to.
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

// volumeID names a volume as instances of a project do.
func volumeID(project, pool, name string) string { return project + "/" + pool + "/" + name }

func (h *serverSurvey) addPromised(name string, size int64) {
	for n := range h.pools {
		if h.pools[n].name == name {
			h.pools[n].promisedBytes += size
		}
	}
}

// vmHost is the server as the engine sees it.
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

// usedHugePagesMiB is what is in use of the huge pages, or will be. LXD tells of those in
// use, also by others than VMs. A VM that is off needs its own when it starts. One that was
// turned on or off while the server was asked may be in neither of the two sums alone.
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

// availableBytes is what is neither used nor promised to disks that have not grown
// to their size yet. Files of others in the same file system count as far as
// they are more than what is promised.
func (p pool) availableBytes() int64 { return max(0, p.totalBytes-max(p.usedBytes, p.promisedBytes)) }

func (h serverSurvey) poolNames() []string {
	names := make([]string, len(h.pools))
	for n, p := range h.pools {
		names[n] = p.name
	}
	return names
}

// defaultPool is where disks go that name no pool; empty if there is none.
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

// maasArchitectures are MAAS's names of architectures, by LXD's.
var maasArchitectures = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el", "s390x": "s390x", "riscv64": "riscv64",
}

// maasArchitecture of the VMs, as MAAS names it: LXD lists its own first.
func (h serverSurvey) maasArchitecture() string {
	if h.Architecture != "" || len(h.architectures) == 0 {
		return h.Architecture
	}
	if name, ok := maasArchitectures[h.architectures[0]]; ok {
		return name + "/generic"
	}
	return ""
}
