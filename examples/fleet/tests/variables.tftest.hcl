# Values that the module refuses. The tests need no MAAS.
run "no_hosts" {
  command = plan

  variables {
    hosts = {}
  }

  expect_failures = [var.hosts]
}

run "half_a_vm" {
  command = plan

  variables {
    vms = 1.5
  }

  expect_failures = [var.vms]
}
