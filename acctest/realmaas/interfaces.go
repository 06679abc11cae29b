package realmaas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Interface is what MAAS shows of a machine's interface.
type Interface struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	MAC   string `json:"mac_address"`
	Links []Link `json:"links"`
}

// Link ties an interface to a subnet.
type Link struct {
	ID     int    `json:"id"`
	Mode   string `json:"mode"`
	IP     string `json:"ip_address"`
	Subnet struct {
		ID int `json:"id"`
	} `json:"subnet"`
}

// linkForm is the form that makes the link again. MAAS chooses the address of a
// link that is not static.
func (l Link) linkForm() url.Values {
	form := url.Values{"mode": {strings.ToUpper(l.Mode)}}
	if l.Subnet.ID != 0 {
		form.Set("subnet", fmt.Sprint(l.Subnet.ID))
	}
	if l.Mode == "static" && l.IP != "" {
		form.Set("ip_address", l.IP)
	}
	return form
}

// String describes the link that [Link.linkForm] makes.
func (l Link) String() string {
	text := l.Mode
	if l.Subnet.ID != 0 {
		text += fmt.Sprintf(" on subnet %d", l.Subnet.ID)
	}
	if l.Mode == "static" {
		text += " with " + l.IP
	}
	return text
}

// Interfaces lists the interfaces of a machine.
func (c *Client) Interfaces(ctx context.Context, systemID string) ([]Interface, error) {
	var all []Interface
	err := c.GetJSON(ctx, "nodes/"+url.PathEscape(systemID)+"/interfaces/", &all)
	return all, err
}

// interfacesPath is the API's path of a machine's interfaces.
func interfacesPath(systemID string) string {
	return "nodes/" + url.PathEscape(systemID) + "/interfaces/"
}

// AddBridge puts a bridge on the first linked NIC of a machine, and links the
// bridge to the same subnet. MAAS removes the links of the NIC.
// [Client.GiveBack] undoes that.
func (c *Client) AddBridge(ctx context.Context, systemID, name string) error {
	if name == "" {
		return fmt.Errorf("cannot put a bridge without a name on machine %s", systemID)
	}
	all, err := c.Interfaces(ctx, systemID)
	if err != nil {
		return err
	}
	path := interfacesPath(systemID)
	for _, nic := range all {
		if nic.Type != "physical" || len(nic.Links) == 0 || nic.Links[0].Subnet.ID == 0 {
			continue
		}
		body, err := c.Send(ctx, http.MethodPost, path+"?op=create_bridge", url.Values{"name": {name}, "parent": {fmt.Sprint(nic.ID)}})
		if err != nil {
			return err
		}
		var bridge Interface
		if err := json.Unmarshal(body, &bridge); err != nil {
			return err
		}
		link := url.Values{"mode": {"AUTO"}, "subnet": {fmt.Sprint(nic.Links[0].Subnet.ID)}}
		_, err = c.Send(ctx, http.MethodPost, fmt.Sprintf("%s%d/?op=link_subnet", path, bridge.ID), link)
		return err
	}
	return fmt.Errorf("machine %s has no NIC that is linked to a subnet", systemID)
}

// restoreInterfaces removes the interfaces that a machine did not have before.
// One is the bridge that the provider puts on the machine of a VM host. It
// restores the links of the others, because MAAS removes those of a NIC with a
// bridge.
func (c *Client) restoreInterfaces(ctx context.Context, m, was Machine) error {
	path, removed := interfacesPath(m.SystemID), false
	for _, i := range m.Interfaces {
		if _, had := was.findInterface(i.Name); had || i.Type == "physical" {
			continue // physical interfaces come from commissioning
		}
		removed = true
		if err := c.deletePath(ctx, fmt.Sprintf("%s%d/", path, i.ID)); err != nil {
			return err
		}
	}
	if removed { // other interfaces may have gone with it
		var err error
		if m, err = c.Machine(ctx, m.SystemID); err != nil {
			return err
		}
	}
	var err error
	for _, i := range m.Interfaces {
		if had, ok := was.findInterface(i.Name); ok {
			err = errors.Join(err, c.restoreLinks(ctx, fmt.Sprintf("%s%d/", path, i.ID), i.Links, had.Links))
		}
	}
	return err
}

// findInterface finds an interface by its name.
func (m Machine) findInterface(name string) (Interface, bool) {
	n := slices.IndexFunc(m.Interfaces, func(i Interface) bool { return i.Name == name })
	if n < 0 {
		return Interface{}, false
	}
	return m.Interfaces[n], true
}

// restoreLinks restores the former links of an interface, and removes all
// others. MAAS puts a link_up link on an interface without links, and removes
// it with the first other one.
func (c *Client) restoreLinks(ctx context.Context, path string, is, was []Link) error {
	has := func(links []Link, link Link) bool {
		return slices.ContainsFunc(links, func(l Link) bool { return l.String() == link.String() })
	}
	for _, link := range is {
		if has(was, link) || link.Mode == "link_up" {
			continue
		}
		if _, err := c.Send(ctx, http.MethodPost, path+"?op=unlink_subnet", url.Values{"id": {fmt.Sprint(link.ID)}}); err != nil {
			return err
		}
	}
	for _, link := range was {
		if has(is, link) {
			continue
		}
		if _, err := c.Send(ctx, http.MethodPost, path+"?op=link_subnet", link.linkForm()); err != nil {
			return err
		}
	}
	return nil
}
