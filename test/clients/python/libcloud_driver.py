"""Apache Libcloud: V1 signatures, answers in XML. Takes a node through its life."""

import json
import os
import time

from libcloud.common.exceptions import BaseHTTPError
from libcloud.compute.drivers.ecs import ECSDriver

host, port = os.environ["EGS_HOST"].split(":")
driver = ECSDriver(
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
    region=os.environ["ALIBABA_CLOUD_REGION_ID"],
    secure=False,
    host=host,
    port=int(port),
)


def find(node):
    return driver.list_nodes(ex_node_ids=[node.id])


def authorize(group_id, port_range):
    """The driver reads rules, but has no method of its own that makes them."""
    rule = {"IpProtocol": "tcp", "PortRange": port_range, "SourceCidrIp": "192.0.2.0/24"}
    where = {"RegionId": driver.region, "SecurityGroupId": group_id}
    driver.connection.request(driver.path, {"Action": "AuthorizeSecurityGroup", **where, **rule})


def delete(group_id):
    """A group goes when the last trace of its node has gone, a little after the node is not shown any more."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return driver.ex_delete_security_group_by_id(group_id)
        except BaseHTTPError as error:
            if "DependencyViolation" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


size = next(each for each in driver.list_sizes() if each.id == "ecs.t6-c1m1.large")
image = next(each for each in driver.list_images() if each.id == "debian_12_x64_egs")

groups = [driver.ex_create_security_group(description="by libcloud") for _ in range(2)]
driver.ex_modify_security_group_by_id(groups[0], name="renamed", description="changed")
authorize(groups[0], "8080/8081")
group = next(each for each in driver.ex_list_security_groups() if each.id == groups[0])
rules = driver.ex_list_security_group_attributes(groups[0], nic_type="intranet")

node = driver.create_node(
    name="libcloud",
    size=size,
    image=image,
    ex_security_group_id=groups[0],
    ex_vswitch_id=os.environ["EGS_VSWITCH"],
    ex_internet_charge_type="PayByTraffic",
    ex_internet_max_bandwidth_out=5,
)
public_address = driver.create_public_ip(node.id)
created = find(node)[0]
driver.ex_join_security_group(created, groups[1])
driver.ex_leave_security_group(created, groups[0])
by_group = driver.list_nodes(ex_filters={"SecurityGroupId": groups[1]})

states = [created.state]
driver.reboot_node(node, ex_force_stop=True)
states.append(find(node)[0].state)
driver.stop_node(node, ex_force_stop=True)
states.append(find(node)[0].state)
driver.start_node(node)
states.append(find(node)[0].state)
driver.destroy_node(node)
for each in groups:
    delete(each)

print(
    json.dumps(
        {
            "locations": [each.id for each in driver.list_locations()],
            "zones": [each.id for each in driver.ex_list_zones()],
            "group": [group.name, group.description],
            "rules": [[each.ip_protocol, each.port_range, each.policy] for each in rules],
            "name": created.name,
            "public": [public_address, *created.public_ips],
            "byGroup": [each.name for each in by_group],
            "states": states,
            "left": len(find(node)) + len([each for each in driver.ex_list_security_groups() if each.id in groups]),
        }
    )
)
