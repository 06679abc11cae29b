package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestDomains(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.Domains.Create(&entity.DomainParams{Name: "lab", TTL: 60, Authoritative: true}))
		same(t, "the TTL", must(c.Domain.Get(made.ID)).TTL, 60)
		must(c.Domain.Update(made.ID, &entity.DomainParams{Name: "lab2", Authoritative: true}))
		domain := func(d entity.Domain) string { return d.Name }
		has(t, "the domains", names(must(c.Domains.Get()), domain), "lab2", true)
		try(c.Domain.Delete(made.ID))
		has(t, "the domains", names(must(c.Domains.Get()), domain), "lab2", false)
	})
}

func TestDNSResources(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.DNSResources.Create(&entity.DNSResourceParams{Name: "api", Domain: "example", IPAddresses: "10.77.0.50", AddressTTL: 30}))
		d := must(c.DNSResource.Get(made.ID))
		same(t, "the name", d.FQDN, "api.example")
		same(t, "the address", d.IPAddresses[0].IP.String(), "10.77.0.50")
		must(c.DNSResource.Update(made.ID, &entity.DNSResourceParams{IPAddresses: "10.77.0.51", AddressTTL: 30}))
		same(t, "the address", must(c.DNSResource.Get(made.ID)).IPAddresses[0].IP.String(), "10.77.0.51")
		fqdn := func(d entity.DNSResource) string { return d.FQDN }
		in := &entity.DNSResourcesParams{Domain: "example"}
		has(t, "the names", names(must(c.DNSResources.Get(in)), fqdn), "api.example", true)
		try(c.DNSResource.Delete(made.ID))
		has(t, "the names", names(must(c.DNSResources.Get(in)), fqdn), "api.example", false)
	})
}

func TestDNSResourceRecords(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.DNSResourceRecords.Create(&entity.DNSResourceRecordParams{Name: "www", Domain: "example", RRType: "TXT", RRData: "hello", TTL: 30}))
		same(t, "the data", must(c.DNSResourceRecord.Get(made.ID)).RRData, "hello")
		data := func(r entity.DNSResourceRecord) string { return r.RRData }
		in := &entity.DNSResourceRecordsParams{Domain: "example"}
		has(t, "the data", names(must(c.DNSResourceRecords.Get(in)), data), "hello", true)
		must(c.DNSResourceRecord.Update(made.ID, &entity.DNSResourceRecordParams{RRType: "TXT", RRData: "bye", TTL: 60}))
		same(t, "the new data", must(c.DNSResourceRecord.Get(made.ID)).RRData, "bye")
		try(c.DNSResourceRecord.Delete(made.ID))
		has(t, "the data", names(must(c.DNSResourceRecords.Get(in)), data), "bye", false)
	})
}

func TestDefaultDomain(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.Domains.Create(&entity.DomainParams{Name: "lab", Authoritative: true}))
		must(c.Domain.SetDefault(made.ID))
		same(t, "that it is the default", must(c.Domain.Get(made.ID)).IsDefault, true)
		same(t, "that maas is the default", must(c.Domain.Get(0)).IsDefault, false)
	})
}
