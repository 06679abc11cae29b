package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// lentMachines is how many machines the suite may deploy. Each story needs up
// to two, and some stories run at once.
const lentMachines = 8

// operatorModel is the MAAS of an operator. In the column lxd it has no VM
// hosts any more, and the marks on the host machines say what they are.
func operatorModel(column, certificate string) sim.Model {
	const never = time.Hour
	m := sim.Model{
		MAASVersion: sim.Version34,
		Zones:       []string{"north", "south"},
		Pools:       []string{"compute"},
		Domains:     []string{"example.org"},
		Images:      []string{"ubuntu/jammy", "ubuntu/noble"},
		Subnets:     []sim.SubnetModel{{Name: "wire", DHCP: true}, {Name: "unlit"}},
		Hosts: []sim.HostModel{
			{Name: "alpha", Cores: 64, MemoryMiB: 1 << 18, Zone: "north", Tags: []string{"row7"}, StoragePools: []sim.StoragePoolModel{
				{Name: "default", SizeGB: 2000, Default: true}, {Name: "nvme", SizeGB: 500},
			}},
			{Name: "beta", Cores: 64, MemoryMiB: 1 << 18, Zone: "south"},
		},
		Machines: []sim.MachineModel{
			{Hostname: "web", Cores: 2, MemoryMiB: 4096, DiskGB: 40, Status: "Deployed"}, // the operator's own VM
		},
		Latency: sim.Latency{
			Compose: 50 * time.Millisecond, Commission: never, Deploy: never, FirstBoot: never,
			Release: 100 * time.Millisecond, PowerOn: 50 * time.Millisecond, PowerOff: 50 * time.Millisecond,
		},
		LXDListen: sim.LXDListenAuto,
	}
	for n := range m.Hosts {
		m.Hosts[n].TrustedCertificates = []string{certificate}
	}
	for n := range lentMachines / 2 {
		m.Machines = append(m.Machines,
			sim.MachineModel{Hostname: fmt.Sprintf("metal%d", 2*n+1), Cores: 8, MemoryMiB: 32768, DiskGB: 500, Zone: "north"},
			sim.MachineModel{Hostname: fmt.Sprintf("metal%d", 2*n+2), Cores: 16, MemoryMiB: 65536, DiskGB: 500, Zone: "south"})
	}
	if column == "lxd" {
		m.MAASVersion = sim.VersionGone
	}
	return m
}

// markHostMachines marks the machines of the hosts as LXD hosts, as a
// maaslxd_vm_host does. Where MAAS has no VM hosts, nothing else says so.
func (s *simulator) markHostMachines(ctx context.Context, hosts []sim.HostModel, servers []sim.LXD) error {
	for _, h := range hosts {
		record := engine.HostRecord{Name: h.Name, Zone: h.Zone, Tags: h.Tags, Endpoint: engine.Endpoint{Project: "default"}, DefaultStoragePool: "default"}
		for _, l := range servers {
			if l.Name == h.Name {
				record.Address = l.Address
			}
		}
		tags, data := []string{engine.HostTag, "virtual"}, record.OwnerData()
		maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
		body, err := json.Marshal(sim.MachineEdit{Tags: &tags, OwnerData: &data})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, s.controlURL+"/machines/"+h.Name, bytes.NewReader(body))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode/100 != 2 {
			return fmt.Errorf("cannot note host %s: %s", h.Name, res.Status)
		}
	}
	return nil
}
