package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/machines"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/metadata"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/network"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// inspector shows a test what no client of MAAS can see.
type inspector struct {
	*region
	lxds *lxdEndpoints
}

// CloudInit is the result of a machine's user-data.
type CloudInit struct {
	Files    map[string]string // by path, from write_files
	Commands []string          // from runcmd, one a line
}

// CloudInit reads the user-data that the machine was deployed with, as its first boot
// does. It reads MIME, compressed data, and several cloud-configs in one. The machine is
// named by system id or hostname.
func (wit *inspector) CloudInit(machine string) (CloudInit, error) {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	m, err := wit.findMachine(machine)
	if err != nil {
		return CloudInit{}, err
	}
	files, commands, err := boot.FilesAndCommands(m.UserData, m.Hostname)
	if err != nil {
		return CloudInit{}, err
	}
	return CloudInit{Files: files, Commands: commands}, nil
}

// InstalledFiles are the files, by path, that MAAS's installer leaves on the disk of a
// machine. The machine must be Deploying and have the first boot "real". The files tell
// cloud-init where the metadata service is, its credentials, and the machine's network
// with bridges and addresses. The URL is the simulator's as the machine reaches it, such
// as http://10.0.0.1:5240/MAAS.
func (wit *inspector) InstalledFiles(machine, url string) (map[string]string, error) {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	m, err := wit.findMachine(machine)
	if err != nil {
		return nil, err
	}
	return metadata.InstalledFiles(m, url)
}

// Resolve returns what MAAS's DNS server answers for a name: the addresses that users gave
// it, and those of the machine with that name. A name that MAAS does not know has none. A
// dot at the end is ignored.
func (wit *inspector) Resolve(fqdn string) []string {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	fqdn = strings.ToLower(strings.TrimSuffix(fqdn, "."))
	addresses := []string{}
	network.DropStaleAddresses(wit.world)
	for _, r := range wit.world.DNSResources {
		if strings.EqualFold(r.Name+"."+r.Domain.Name, fqdn) {
			addresses = append(addresses, r.IPs...)
		}
	}
	for _, m := range world.SortedMachines(wit.world.Machines) {
		if strings.EqualFold(m.Hostname+"."+m.Domain.Name, fqdn) {
			addresses = append(addresses, m.Addresses()...)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// Instance is a VM as it really is in an LXD. It shows leaks and duplicates.
type Instance struct {
	Host      string `json:"host"` // the model's name of the LXD
	Project   string `json:"project"`
	Name      string `json:"name"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	// DiskBytes is the size of the root disk when you add an instance. Zero means 8 GB.
	DiskBytes int64 `json:"disk_bytes,omitempty"`
	Running   bool  `json:"running"`
	// MACs are the addresses of its NICs. MAAS recognises it by them.
	MACs []string `json:"macs"`
	// MachineID is the system id of its machine in MAAS, or empty if MAAS does not know
	// it.
	MachineID string `json:"machine_id,omitempty"`
}

// Machine is a short view of one of MAAS's machines.
type Machine struct {
	SystemID      string       `json:"system_id"`
	Hostname      string       `json:"hostname"`
	Status        world.Status `json:"status"`
	StatusName    string       `json:"status_name"`
	StatusMessage string       `json:"status_message,omitempty"`
	Description   string       `json:"description,omitempty"`
	Owner         string       `json:"owner,omitempty"`
	PowerState    string       `json:"power_state"`
	// PowerBusy means that a power action is under way.
	PowerBusy bool     `json:"power_busy,omitempty"`
	Zone      string   `json:"zone"`
	Pool      string   `json:"pool"`
	Domain    string   `json:"domain"`
	Tags      []string `json:"tags"`
	// Host is the VM host's name, or empty if the machine is not a VM of one.
	Host string `json:"host,omitempty"`
	// HostedHosts names the VM hosts that run on this machine.
	HostedHosts string            `json:"hosted_hosts,omitempty"`
	Cores       int               `json:"cores"`
	MemoryMiB   int64             `json:"memory_mib"`
	IPAddresses []string          `json:"ip_addresses"`
	OwnerData   map[string]string `json:"owner_data,omitempty"`
	Locked      bool              `json:"locked,omitempty"`
	// Image is the image of the current or last deployment, like "ubuntu/noble", or empty.
	Image string `json:"image,omitempty"`
	// SwapOn means that the deployed system has swap. curtin makes swap unless swap_size
	// is 0, and a kubelet does not start with it.
	SwapOn bool `json:"swap_on,omitempty"`
	// FirstBoot is the duration of its last first boot in seconds. Zero means that none
	// has begun, or that it takes no time.
	FirstBoot float64 `json:"first_boot_s,omitempty"`
}

// Instances are the VMs that really exist in the LXDs.
func (wit *inspector) Instances() []Instance {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	out := []Instance{}
	for _, l := range rest.SortedValues(wit.world.LXDs) {
		for _, project := range rest.SortedValues(world.ProjectNames(l)) {
			for _, i := range l.Instances(project) {
				out = append(out, publicInstance(i, wit.world))
			}
		}
	}
	return out
}

// Volumes lists the custom volumes in the LXD of a host as "pool/name": the data disks of
// VMs, and the remains of failed composes. It is empty for an unknown host and for a real
// LXD.
func (wit *inspector) Volumes(host string) []string {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	names := []string{}
	if l, err := wit.findLXD(host); err == nil {
		for key := range l.Volumes {
			names = append(names, key.Pool+"/"+key.Name)
		}
	}
	slices.Sort(names)
	return names
}

func publicInstance(i *world.Instance, w *world.World) Instance {
	out := Instance{Host: i.Server.Name, Project: i.Project, Name: i.Name, Cores: i.Cores, MemoryMiB: i.MemoryMiB, Running: i.Running, MACs: rest.NonNilList(i.MACs)}
	for _, m := range w.Machines {
		if m.HasInstance(i) {
			out.MachineID = m.SystemID
		}
	}
	return out
}

// Machines are MAAS's machines, in order of creation.
func (wit *inspector) Machines() []Machine {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	out := []Machine{}
	for _, m := range world.SortedMachines(wit.world.Machines) {
		out = append(out, publicMachine(m))
	}
	return out
}

// DescribeState lists MAAS's machines, and the instances and volumes of the LXDs. If a
// client removes everything that it made, the list is the same as before.
func (wit *inspector) DescribeState() []string {
	var all []string
	for _, m := range wit.Machines() {
		all = append(all, fmt.Sprintf("%s %s %s %v", m.Hostname, m.StatusName, m.Owner, m.Tags))
	}
	for _, i := range wit.Instances() {
		all = append(all, i.Host+"/"+i.Project+"/"+i.Name)
	}
	for _, l := range wit.LXDs() {
		all = append(all, fmt.Sprintf("%s %+v", l.Name, l.Used))
	}
	return all
}

// Machine returns one of MAAS's machines by its hostname or system id.
func (wit *inspector) Machine(name string) (Machine, bool) {
	for _, m := range wit.Machines() {
		if m.Hostname == name || m.SystemID == name {
			return m, true
		}
	}
	return Machine{}, false
}

func publicMachine(m *world.Machine) Machine {
	out := Machine{
		SystemID: m.SystemID, Hostname: m.Hostname, Status: m.Status, StatusName: m.Status.String(),
		Description: m.Description, Owner: request.OwnerText(m), PowerState: m.PowerState, PowerBusy: m.PowerJob.IsPending(), Zone: m.Zone.Name,
		Pool: m.Pool.Name, Domain: m.Domain.Name, Tags: slices.Clone(rest.NonNilList(m.Tags)), Host: request.PodName(m),
		HostedHosts: machines.HostedVMHosts(m), Cores: m.Cores, MemoryMiB: m.MemoryMiB, IPAddresses: rest.NonNilList(m.Addresses()), Locked: m.Locked,
		FirstBoot: m.BootDuration.Seconds(),
		SwapOn:    m.SwapOn && m.Status == world.StatusDeployed,
	}
	if message := m.StatusEvent.Message(); message != nil {
		out.StatusMessage = *message
	}
	if m.Series != "" {
		out.Image = m.Osystem + "/" + m.Series
	}
	for name, value := range m.OwnerData {
		if out.OwnerData == nil {
			out.OwnerData = map[string]string{}
		}
		out.OwnerData[name] = value
	}
	return out
}

// UserData is the decoded user-data that the machine was deployed with, or nil.
func (wit *inspector) UserData(systemID string) ([]byte, error) {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	m, err := wit.findMachine(systemID)
	if err != nil {
		return nil, err
	}
	return slices.Clone(m.UserData), nil
}
