package realmaas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// namedObject is an object of which only the name is read.
type namedObject struct {
	Name string `json:"name"`
}

// Machine is what MAAS shows of a machine.
type Machine struct {
	SystemID      string            `json:"system_id"`
	Hostname      string            `json:"hostname"`
	Status        int               `json:"status"`
	StatusName    string            `json:"status_name"`
	StatusMessage string            `json:"status_message"`
	Description   string            `json:"description"`
	Owner         string            `json:"owner"`
	PowerState    string            `json:"power_state"`
	PowerType     string            `json:"power_type"`
	Zone          namedObject       `json:"zone"`
	Pool          namedObject       `json:"pool"`
	Domain        namedObject       `json:"domain"`
	Tags          []string          `json:"tag_names"`
	Locked        bool              `json:"locked"`
	Cores         int               `json:"cpu_count"`
	MemoryMiB     int64             `json:"memory"`
	IPAddresses   []string          `json:"ip_addresses"`
	OwnerData     map[string]string `json:"owner_data"`
	OSystem       string            `json:"osystem"`
	Series        string            `json:"distro_series"`
	Interfaces    []Interface       `json:"interface_set"`
	VMHost        *struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	} `json:"pod"`
}

// BelongsTo reports whether a machine belongs to a run. Its hostname begins
// with the run's prefix, or its description has the mark of an object with such
// a name. The provider removes the prefix from a VM that waits for another VM's
// name; the mark stays.
func (m Machine) BelongsTo(prefix string) bool {
	if strings.HasPrefix(m.Hostname, prefix) {
		return true
	}
	for line := range strings.SplitSeq(m.Description, "\n") {
		if strings.HasPrefix(line, "maaslxd-") && strings.Contains(line, "/"+prefix) {
			return true
		}
	}
	return false
}

// Machines lists all machines that the user may see.
func (c *Client) Machines(ctx context.Context) ([]Machine, error) {
	var all []Machine
	err := c.GetJSON(ctx, "machines/", &all)
	return all, err
}

// Machine reads one machine. [IsGone] reports whether the error means that MAAS
// does not have it.
func (c *Client) Machine(ctx context.Context, systemID string) (Machine, error) {
	var m Machine
	err := c.GetJSON(ctx, "machines/"+url.PathEscape(systemID)+"/", &m)
	return m, err
}

// Operate calls an operation of a machine, for example "release".
func (c *Client) Operate(ctx context.Context, systemID, op string, form url.Values) error {
	_, err := c.Send(ctx, http.MethodPost, "machines/"+url.PathEscape(systemID)+"/?op="+op, form)
	return err
}

// Change sets fields of a machine, by MAAS's names for them.
func (c *Client) Change(ctx context.Context, systemID string, form url.Values) error {
	_, err := c.Send(ctx, http.MethodPut, "machines/"+url.PathEscape(systemID)+"/", form)
	return err
}

// SetTags gives a machine exactly these tags. It makes tags that MAAS does not
// have.
func (c *Client) SetTags(ctx context.Context, m Machine, tags []string) error {
	for _, tag := range tags {
		if slices.Contains(m.Tags, tag) {
			continue
		}
		if err := c.EnsureTag(ctx, tag); err != nil {
			return err
		}
		if err := c.updateTag(ctx, tag, "add", m.SystemID); err != nil {
			return err
		}
	}
	for _, tag := range m.Tags {
		if slices.Contains(tags, tag) {
			continue
		}
		if err := c.updateTag(ctx, tag, "remove", m.SystemID); err != nil {
			return err
		}
	}
	return nil
}

// EnsureTag makes a tag unless MAAS has it.
func (c *Client) EnsureTag(ctx context.Context, tag string) error {
	var all []namedObject
	if err := c.GetJSON(ctx, "tags/", &all); err != nil {
		return err
	}
	if slices.Contains(all, namedObject{tag}) {
		return nil
	}
	_, err := c.Send(ctx, http.MethodPost, "tags/", url.Values{"name": {tag}})
	return err
}

func (c *Client) updateTag(ctx context.Context, tag, verb, systemID string) error {
	_, err := c.Send(ctx, http.MethodPost, "tags/"+url.PathEscape(tag)+"/?op=update_nodes", url.Values{verb: {systemID}})
	return err
}

// VMHost is what MAAS shows of a VM host.
type VMHost struct {
	ID           int         `json:"id"`
	Name         string      `json:"name"`
	Zone         namedObject `json:"zone"`
	Pool         namedObject `json:"pool"`
	Tags         []string    `json:"tags"`
	Version      string      `json:"version"`
	StoragePools []struct {
		Name    string `json:"name"`
		Default bool   `json:"default"`
	} `json:"storage_pools"`
	Host struct {
		SystemID string `json:"system_id"`
	} `json:"host"`
}

// VMHosts lists the VM hosts. A MAAS that has removed VM hosts has none.
func (c *Client) VMHosts(ctx context.Context) ([]VMHost, error) {
	var all []VMHost
	err := c.GetJSON(ctx, "vm-hosts/", &all)
	var status *StatusError
	if errors.As(err, &status) && status.Status == http.StatusGone {
		return nil, nil
	}
	return all, err
}

// FindMachine finds a machine by its hostname, which is without a domain and in
// lower case, as in MAAS's own records. It returns an error where there is
// none.
func FindMachine(machines []Machine, hostname string) (Machine, error) {
	short, _, _ := strings.Cut(hostname, ".")
	for _, m := range machines {
		if strings.EqualFold(m.Hostname, short) {
			return m, nil
		}
	}
	return Machine{}, fmt.Errorf("MAAS has no machine %s", hostname)
}
