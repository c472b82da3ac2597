/** The first tables. Columns and their meaning: `tables.ts`. */
export const initial = /* sql */ `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE accessKeys (
  id TEXT PRIMARY KEY, secret TEXT NOT NULL, accountId TEXT NOT NULL, status TEXT NOT NULL, createdAt TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE hosts (
  id TEXT PRIMARY KEY, regionId TEXT NOT NULL, zoneId TEXT NOT NULL, state TEXT NOT NULL,
  cpuMilli INTEGER NOT NULL, memoryMiB INTEGER NOT NULL, diskGiB INTEGER NOT NULL, endpoint TEXT NOT NULL,
  gpus TEXT NOT NULL DEFAULT '{"cards":[],"links":[]}'
) WITHOUT ROWID;

CREATE TABLE allocations (
  owner TEXT PRIMARY KEY, hostId TEXT NOT NULL REFERENCES hosts (id),
  cpuMilli INTEGER NOT NULL, memoryMiB INTEGER NOT NULL, diskGiB INTEGER NOT NULL, cards TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;
CREATE INDEX allocationsByHost ON allocations (hostId);

CREATE TABLE instances (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, zoneId TEXT NOT NULL, hostId TEXT NOT NULL REFERENCES hosts (id),
  name TEXT NOT NULL, hostName TEXT NOT NULL, description TEXT NOT NULL DEFAULT '',
  instanceType TEXT NOT NULL, vcpus INTEGER NOT NULL, memoryMiB INTEGER NOT NULL, imageId TEXT NOT NULL,
  status TEXT NOT NULL, targetStatus TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 1, appliedGeneration INTEGER NOT NULL DEFAULT 0,
  rebootsWanted INTEGER NOT NULL DEFAULT 0, rebootsDone INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL DEFAULT 0, forceStop INTEGER NOT NULL DEFAULT 0, failure TEXT,
  creationTime TEXT NOT NULL, startTime TEXT, autoReleaseTime TEXT, stoppedMode TEXT,
  deletionProtection INTEGER NOT NULL DEFAULT 0, recyclable INTEGER NOT NULL DEFAULT 0,
  keyPairName TEXT, passwordHash TEXT, userData TEXT, serialNumber TEXT NOT NULL,
  vpcId TEXT NOT NULL, vSwitchId TEXT NOT NULL,
  internetChargeType TEXT NOT NULL DEFAULT 'PayByTraffic', internetMaxBandwidthIn INTEGER NOT NULL DEFAULT 0,
  internetMaxBandwidthOut INTEGER NOT NULL DEFAULT 0, instanceChargeType TEXT NOT NULL DEFAULT 'PostPaid',
  spotStrategy TEXT NOT NULL DEFAULT 'NoSpot', creditSpecification TEXT,
  resourceGroupId TEXT NOT NULL DEFAULT '', httpEndpoint TEXT NOT NULL DEFAULT 'enabled',
  httpTokens TEXT NOT NULL DEFAULT 'optional', httpPutResponseHopLimit INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX instancesByAccount ON instances (accountId, regionId, sequence) WHERE status <> 'Deleted';
CREATE INDEX instancesByHost ON instances (hostId);
CREATE INDEX instancesByVpc ON instances (vpcId);
CREATE INDEX instancesUnsettled ON instances (sequence)
  WHERE status IN ('Pending', 'Starting', 'Stopping', 'Deleted')
     OR generation <> appliedGeneration OR rebootsWanted <> rebootsDone;
CREATE INDEX instancesToRelease ON instances (autoReleaseTime) WHERE autoReleaseTime IS NOT NULL;

CREATE TABLE instanceTotals (
  accountId TEXT NOT NULL, regionId TEXT NOT NULL, instances INTEGER NOT NULL, vcpus INTEGER NOT NULL,
  PRIMARY KEY (accountId, regionId)
) WITHOUT ROWID;
CREATE TRIGGER totalNewInstance AFTER INSERT ON instances WHEN NEW.status <> 'Deleted' BEGIN
  INSERT INTO instanceTotals VALUES (NEW.accountId, NEW.regionId, 1, NEW.vcpus)
    ON CONFLICT DO UPDATE SET instances = instances + 1, vcpus = vcpus + NEW.vcpus;
END;
CREATE TRIGGER totalDeletedInstance AFTER UPDATE OF status ON instances
  WHEN NEW.status = 'Deleted' AND OLD.status <> 'Deleted' BEGIN
  UPDATE instanceTotals SET instances = instances - 1, vcpus = vcpus - OLD.vcpus
    WHERE accountId = NEW.accountId AND regionId = NEW.regionId;
END;
CREATE TRIGGER totalResizedInstance AFTER UPDATE OF vcpus ON instances WHEN NEW.status <> 'Deleted' BEGIN
  UPDATE instanceTotals SET vcpus = vcpus + NEW.vcpus - OLD.vcpus
    WHERE accountId = NEW.accountId AND regionId = NEW.regionId;
END;

CREATE TABLE disks (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, zoneId TEXT NOT NULL, hostId TEXT NOT NULL REFERENCES hosts (id), instanceId TEXT,
  status TEXT NOT NULL, contentVersion INTEGER NOT NULL DEFAULT 1, contentSource TEXT,
  volumeVersion INTEGER NOT NULL DEFAULT 0, oldestVersion INTEGER NOT NULL DEFAULT 1,
  appliedSizeGiB INTEGER NOT NULL, type TEXT NOT NULL, category TEXT NOT NULL,
  performanceLevel TEXT, sizeGiB INTEGER NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', device TEXT, imageId TEXT, sourceSnapshotId TEXT,
  deleteWithInstance INTEGER NOT NULL DEFAULT 1, deleteAutoSnapshot INTEGER NOT NULL DEFAULT 0,
  enableAutoSnapshot INTEGER NOT NULL DEFAULT 0, creationTime TEXT NOT NULL, attachedTime TEXT,
  detachedTime TEXT, resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX disksByInstance ON disks (instanceId);
CREATE INDEX disksByAccount ON disks (accountId, regionId, sequence);
CREATE INDEX disksByHost ON disks (hostId);
CREATE INDEX disksUnsettled ON disks (sequence)
  WHERE status IN ('Creating', 'ReIniting', 'Deleted')
     OR sizeGiB <> appliedSizeGiB OR oldestVersion < volumeVersion;

CREATE TABLE snapshots (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, hostId TEXT NOT NULL REFERENCES hosts (id), diskId TEXT NOT NULL,
  diskSizeGiB INTEGER NOT NULL, diskCategory TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', status TEXT NOT NULL, retentionDays INTEGER,
  releaseTime TEXT, creationTime TEXT NOT NULL, lastModifiedTime TEXT NOT NULL,
  resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX snapshotsByAccount ON snapshots (accountId, regionId, sequence);
CREATE INDEX snapshotsByDisk ON snapshots (diskId);
CREATE INDEX snapshotsByHost ON snapshots (hostId);
CREATE INDEX snapshotsToRelease ON snapshots (releaseTime) WHERE releaseTime IS NOT NULL;

CREATE TABLE images (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, hostId TEXT NOT NULL REFERENCES hosts (id), instanceId TEXT NOT NULL,
  baseImageId TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '',
  family TEXT NOT NULL DEFAULT '', version TEXT NOT NULL DEFAULT '', sizeGiB INTEGER NOT NULL,
  status TEXT NOT NULL, creationTime TEXT NOT NULL, resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX imagesByAccount ON images (accountId, regionId, sequence);
CREATE INDEX imagesByHost ON images (hostId);

CREATE TABLE vpcs (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, networkIndex INTEGER NOT NULL UNIQUE, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', cidrBlock TEXT NOT NULL,
  secondaryCidrBlocks TEXT NOT NULL DEFAULT '[]', userCidrs TEXT NOT NULL DEFAULT '[]',
  isDefault INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL, creationTime TEXT NOT NULL,
  resourceGroupId TEXT NOT NULL DEFAULT '', vRouterId TEXT NOT NULL UNIQUE,
  vRouterName TEXT NOT NULL DEFAULT '', vRouterDescription TEXT NOT NULL DEFAULT ''
);
CREATE INDEX vpcsByAccount ON vpcs (accountId, regionId, sequence);

CREATE TABLE routeTables (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, vpcId TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', type TEXT NOT NULL, creationTime TEXT NOT NULL
);
CREATE INDEX routeTablesByVpc ON routeTables (vpcId);

CREATE TABLE routeEntries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  routeTableId TEXT NOT NULL REFERENCES routeTables (id) ON DELETE CASCADE,
  name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', destinationCidr TEXT NOT NULL,
  nextHopType TEXT NOT NULL, nextHopId TEXT NOT NULL, networkInterfaceId TEXT, creationTime TEXT NOT NULL,
  UNIQUE (routeTableId, destinationCidr)
);
CREATE INDEX routeEntriesByNextHop ON routeEntries (nextHopId);

CREATE TABLE vSwitches (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, zoneId TEXT NOT NULL, vpcId TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', cidrBlock TEXT NOT NULL, isDefault INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL, creationTime TEXT NOT NULL,
  routeTableId TEXT NOT NULL REFERENCES routeTables (id), nextAddress TEXT
);
CREATE INDEX vSwitchesByVpc ON vSwitches (vpcId);

CREATE TABLE securityGroups (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, vpcId TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', type TEXT NOT NULL, innerAccessPolicy TEXT NOT NULL,
  isDefault INTEGER NOT NULL DEFAULT 0, creationTime TEXT NOT NULL, resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX securityGroupsByVpc ON securityGroups (vpcId);

CREATE TABLE securityGroupRules (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  securityGroupId TEXT NOT NULL REFERENCES securityGroups (id) ON DELETE CASCADE,
  direction TEXT NOT NULL, policy TEXT NOT NULL, priority INTEGER NOT NULL, protocol TEXT NOT NULL,
  portRange TEXT NOT NULL, peerCidr TEXT, peerGroupId TEXT, peerGroupOwner TEXT, peerPrefixListId TEXT,
  sourcePortRange TEXT, localCidr TEXT, description TEXT NOT NULL DEFAULT '', creationTime TEXT NOT NULL
);
CREATE INDEX securityGroupRulesByGroup ON securityGroupRules (securityGroupId);

CREATE TABLE networkInterfaces (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, zoneId TEXT NOT NULL, instanceId TEXT, type TEXT NOT NULL,
  deviceIndex INTEGER NOT NULL, vpcId TEXT NOT NULL, vSwitchId TEXT NOT NULL, macAddress TEXT NOT NULL UNIQUE,
  fabricIndex INTEGER NOT NULL UNIQUE,
  name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', status TEXT NOT NULL,
  deleteOnRelease INTEGER NOT NULL DEFAULT 0, creationTime TEXT NOT NULL,
  resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX secondaryInterfaces ON networkInterfaces (accountId, regionId) WHERE type = 'Secondary';
CREATE INDEX networkInterfacesByInstance ON networkInterfaces (instanceId);
CREATE INDEX networkInterfacesByVpc ON networkInterfaces (vpcId);

CREATE TABLE privateAddresses (
  vSwitchId TEXT NOT NULL, address TEXT NOT NULL,
  networkInterfaceId TEXT NOT NULL REFERENCES networkInterfaces (id) ON DELETE CASCADE,
  isPrimary INTEGER NOT NULL, PRIMARY KEY (vSwitchId, address)
) WITHOUT ROWID;
CREATE INDEX privateAddressesByInterface ON privateAddresses (networkInterfaceId);

CREATE TABLE securityGroupMembers (
  securityGroupId TEXT NOT NULL REFERENCES securityGroups (id),
  networkInterfaceId TEXT NOT NULL REFERENCES networkInterfaces (id) ON DELETE CASCADE,
  position INTEGER NOT NULL, PRIMARY KEY (securityGroupId, networkInterfaceId)
) WITHOUT ROWID;
CREATE INDEX securityGroupMembersByInterface ON securityGroupMembers (networkInterfaceId);

CREATE TABLE prefixLists (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '',
  addressFamily TEXT NOT NULL, maxEntries INTEGER NOT NULL, creationTime TEXT NOT NULL,
  resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE TABLE prefixListEntries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  prefixListId TEXT NOT NULL REFERENCES prefixLists (id) ON DELETE CASCADE,
  cidr TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', UNIQUE (prefixListId, cidr)
);

CREATE TABLE eips (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, owner TEXT NOT NULL, address TEXT NOT NULL UNIQUE, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', bandwidthMbits INTEGER NOT NULL,
  internetChargeType TEXT NOT NULL DEFAULT 'PayByBandwidth', chargeType TEXT NOT NULL DEFAULT 'PostPaid',
  isp TEXT NOT NULL DEFAULT 'BGP', status TEXT NOT NULL, instanceType TEXT, instanceId TEXT, vpcId TEXT,
  networkInterfaceId TEXT, privateAddress TEXT, deletionProtection INTEGER NOT NULL DEFAULT 0,
  creationTime TEXT NOT NULL, resourceGroupId TEXT NOT NULL DEFAULT ''
);
CREATE INDEX eipsByAccount ON eips (accountId, regionId, sequence);
CREATE INDEX eipsByVpc ON eips (vpcId);
CREATE INDEX eipsByInstance ON eips (instanceId);
CREATE INDEX eipsByInterface ON eips (networkInterfaceId);
CREATE INDEX eipsUnsettled ON eips (vpcId) WHERE status IN ('Associating', 'Unassociating');

CREATE TABLE natGateways (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, vpcId TEXT NOT NULL, vSwitchId TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', eipBindMode TEXT NOT NULL DEFAULT 'MULTI_BINDED',
  snatTableId TEXT NOT NULL UNIQUE, forwardTableId TEXT NOT NULL UNIQUE,
  icmpReplyEnabled INTEGER NOT NULL DEFAULT 1, deletionProtection INTEGER NOT NULL DEFAULT 0,
  creationTime TEXT NOT NULL
);
CREATE INDEX natGatewaysByVpc ON natGateways (vpcId);
CREATE TABLE snatEntries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  natGatewayId TEXT NOT NULL REFERENCES natGateways (id) ON DELETE CASCADE, name TEXT NOT NULL DEFAULT '',
  sourceVSwitchId TEXT, sourceCidr TEXT NOT NULL, snatIps TEXT NOT NULL, eipAffinity INTEGER NOT NULL DEFAULT 0,
  UNIQUE (natGatewayId, sourceCidr)
);
CREATE TABLE forwardEntries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  natGatewayId TEXT NOT NULL REFERENCES natGateways (id) ON DELETE CASCADE, name TEXT NOT NULL DEFAULT '',
  protocol TEXT NOT NULL, externalIp TEXT NOT NULL, externalPort TEXT NOT NULL, internalIp TEXT NOT NULL,
  internalPort TEXT NOT NULL
);
CREATE INDEX forwardEntriesByGateway ON forwardEntries (natGatewayId);

CREATE TABLE keyPairs (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL, publicKey TEXT NOT NULL,
  creationTime TEXT NOT NULL, resourceGroupId TEXT NOT NULL DEFAULT '', UNIQUE (accountId, regionId, name)
);

CREATE TABLE tags (
  resourceType TEXT NOT NULL, resourceId TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  accountId TEXT NOT NULL, regionId TEXT NOT NULL, PRIMARY KEY (resourceType, resourceId, key)
) WITHOUT ROWID;
CREATE INDEX tagsByKey ON tags (accountId, regionId, resourceType, key, value);

CREATE TABLE commands (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, accountId TEXT NOT NULL,
  regionId TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', type TEXT NOT NULL,
  content TEXT NOT NULL, workingDirectory TEXT, timeoutSeconds INTEGER NOT NULL,
  hasParameters INTEGER NOT NULL DEFAULT 0, invokeTimes INTEGER NOT NULL DEFAULT 0,
  resourceGroupId TEXT NOT NULL DEFAULT '', creationTime TEXT NOT NULL
);
CREATE INDEX commandsByAccount ON commands (accountId, regionId, sequence);

CREATE TABLE invocations (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
  accountId TEXT NOT NULL, regionId TEXT NOT NULL, commandId TEXT NOT NULL, name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '', type TEXT NOT NULL, content TEXT NOT NULL, workingDirectory TEXT,
  userName TEXT, timeoutSeconds INTEGER NOT NULL, hasParameters INTEGER NOT NULL DEFAULT 0,
  parameters TEXT NOT NULL DEFAULT '{}', file TEXT, resourceGroupId TEXT NOT NULL DEFAULT '',
  creationTime TEXT NOT NULL
);
CREATE INDEX invocationsByAccount ON invocations (accountId, regionId, kind, sequence);
CREATE INDEX invocationsByAge ON invocations (creationTime);

CREATE TABLE invocationRuns (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  invocationId TEXT NOT NULL REFERENCES invocations (id) ON DELETE CASCADE, instanceId TEXT NOT NULL,
  status TEXT NOT NULL, exitCode INTEGER, output TEXT NOT NULL DEFAULT '', droppedBytes INTEGER NOT NULL DEFAULT 0,
  errorCode TEXT NOT NULL DEFAULT '', errorInfo TEXT NOT NULL DEFAULT '',
  startTime TEXT, stopTime TEXT, finishTime TEXT, updateTime TEXT NOT NULL,
  UNIQUE (invocationId, instanceId)
);
CREATE INDEX invocationRunsByInstance ON invocationRuns (instanceId);
CREATE INDEX invocationRunsOpen ON invocationRuns (sequence) WHERE status IN ('Pending', 'Running', 'Stopping');

CREATE TABLE clientTokens (
  accountId TEXT NOT NULL, regionId TEXT NOT NULL, action TEXT NOT NULL, token TEXT NOT NULL,
  parametersHash TEXT NOT NULL, response TEXT NOT NULL, createdAt TEXT NOT NULL,
  PRIMARY KEY (accountId, regionId, action, token)
) WITHOUT ROWID;
CREATE INDEX clientTokensByAge ON clientTokens (createdAt);

CREATE TABLE events (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, accountId TEXT, actor TEXT NOT NULL,
  requestId TEXT, resourceType TEXT NOT NULL, resourceId TEXT NOT NULL, action TEXT NOT NULL,
  before TEXT, after TEXT
);
CREATE INDEX eventsByResource ON events (resourceId, sequence);
`;
