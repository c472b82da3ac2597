"""Apache Libcloud: V1 signatures, answers in XML."""

import json
import os

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
sizes = driver.list_sizes()
size = next(each for each in sizes if each.id == "ecs.t6-c1m1.large")
image = next(each for each in driver.list_images() if each.id == "debian_12_x64_egs")
groups = driver.ex_list_security_groups()
switch = os.environ["EGS_VSWITCH"]
node = driver.create_node(
    name="libcloud", size=size, image=image, ex_security_group_id=groups[0].id, ex_vswitch_id=switch
)
listed = driver.list_nodes(ex_node_ids=[node.id])
driver.ex_stop_node(node, ex_force_stop=True)
driver.destroy_node(node)
print(
    json.dumps(
        {
            "locations": [each.id for each in driver.list_locations()],
            "name": listed[0].name,
            "state": listed[0].state,
            "left": len(driver.list_nodes(ex_node_ids=[node.id])),
        }
    )
)
