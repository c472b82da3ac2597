/**
 * Every error code that the cloud can answer, with its HTTP status and message. Codes and statuses are
 * the provider's documented ones; the words are ours. `{name}` is filled in where the error is raised.
 *
 * One code has different statuses on different actions (`IncorrectInstanceStatus` is 403 on most and 400
 * on AttachDisk): the status documented for the action wins, this one is for the rest.
 */
export const errorCatalogue = {
  // The front door, raised for any action.
  MissingParameter: [400, 'The required parameter "{parameter}" is missing.'],
  InvalidParameter: [400, 'The value of parameter "{parameter}" is not valid: {reason}'],
  'InvalidAction.NotFound': [404, 'There is no action "{action}" in version {version} of the API.'],
  'InvalidAction.NotImplemented': [
    400,
    'The action "{action}" of {product} is part of the API, but this cloud has not built it yet.',
  ],
  InvalidVersion: [400, 'The version "{version}" belongs to no product of this cloud.'],
  'InvalidProtocol.NotSupported': [400, '{reason}'],
  RequestTooLarge: [413, 'The request is too large: {reason}'],
  IncompleteSignature: [400, 'The request is not signed completely: {reason}'],
  SignatureDoesNotMatch: [
    400,
    'The signature that the server calculated is another than the one sent. The string that was signed here: {stringToSign}',
  ],
  SignatureNonceUsed: [400, 'The signature nonce was used before.'],
  'InvalidTimeStamp.Expired': [
    400,
    'The time stamp {timestamp} is more than 15 minutes away from the time of the server, {now}.',
  ],
  'InvalidTimeStamp.Format': [400, 'The time stamp "{timestamp}" is not of the form YYYY-MM-DDThh:mm:ssZ.'],
  'InvalidAccessKeyId.NotFound': [404, 'There is no access key with this id.'],
  'InvalidAccessKeyId.Inactive': [400, 'The access key is disabled.'],
  'InvalidSecurityToken.Malformed': [400, 'The security token is not one of this cloud.'],
  'Throttling.User': [400, 'Too many calls of "{action}": more than {limit} in this minute.'],
  IdempotentParameterMismatch: [400, 'The client token was used before for a request with other parameters.'],
  'InvalidClientToken.ValueNotSupported': [400, 'A client token has 1 to 64 ASCII characters.'],
  DryRunOperation: [400, 'The request passed all checks. Nothing was done, because DryRun was set.'],
  InternalError: [
    500,
    'The request failed because of an unknown error, which is in the log under its request id.',
  ],

  // Look-ups.
  'InvalidRegionId.NotFound': [404, 'There is no region "{id}".'],
  'InvalidZoneId.NotFound': [404, 'There is no zone "{id}" in this region.'],
  'InvalidInstanceId.NotFound': [404, 'There is no instance "{id}".'],
  'InvalidInstanceType.NotFound': [404, 'There is no instance type "{id}".'],
  'InvalidImageId.NotFound': [404, 'There is no image "{id}".'],
  'InvalidVSwitchId.NotFound': [404, 'There is no vSwitch "{id}".'],
  'InvalidSecurityGroupId.NotFound': [404, 'There is no security group "{id}".'],
  'InvalidKeyPairName.NotFound': [404, 'There is no key pair "{id}".'],
  'InvalidKeyPair.NotFound': [404, 'There is no key pair "{id}".'],
  'InvalidResourceId.NotFound': [404, 'There is no resource "{id}".'],

  // Instances.
  IncorrectInstanceStatus: [403, 'The instance "{id}" is {status}; this needs {needed}.'],
  'IncorrectInstanceStatus.Initializing': [403, 'The instance "{id}" is still being created.'],
  'InvalidInstanceStatus.NotStopped': [400, 'The instance "{id}" is {status}; it must be Stopped.'],
  'InvalidOperation.DeletionProtection': [403, 'The instance "{id}" is protected from deletion.'],
  'InvalidInstanceType.ValueNotSupported': [400, 'The instance type "{id}" is not offered: {reason}'],
  'InvalidInstanceType.ZoneNotSupported': [403, 'The instance type "{id}" is not offered in zone "{zone}".'],
  'OperationDenied.NoStock': [403, 'No host has room for the instance type "{id}" now: {reason}'],
  'QuotaExceed.ElasticQuota': [403, 'The quota of {quota} {what} is used up ({used} in use).'],
  'InvalidInstanceName.Malformed': [
    400,
    'An instance name has 2 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidHostName.Malformed': [400, 'The host name "{name}" is not valid: {reason}'],
  'InvalidDescription.Malformed': [
    400,
    'A description has 2 to 256 characters and does not start with http:// or https://.',
  ],
  'InvalidPassword.Malformed': [
    400,
    'A password has 8 to 30 characters of at least three of: capitals, small letters, digits, punctuation.',
  ],
  'InvalidUserData.SizeExceeded': [400, 'User data is at most 32 KB before Base64.'],
  'InvalidUserData.Base64FormatInvalid': [400, 'User data must be Base64.'],
  'InvalidAutoReleaseTime.Malformed': [400, 'The release time "{time}" is not valid: {reason}'],
  'InvalidParameter.Conflict': [400, 'These parameters exclude each other: {parameters}.'],
  'InvalidParameter.TooManyInstanceIds': [403, 'At most {limit} instances in one request.'],
  'InvalidInstanceChargeType.NotFound': [404, 'There is no charge type "{value}".'],
  'InvalidInternetChargeType.ValueNotSupported': [400, 'There is no internet charge type "{value}".'],
  'InvalidSystemDiskCategory.ValueNotSupported': [400, 'There is no disk category "{category}".'],
  'InvalidSystemDiskSize.ValueNotSupported': [400, 'A system disk of this image has {min} to {max} GiB.'],
  InvalidPrivateIpAddress: [400, 'The private address {address} is in use or not in the vSwitch.'],
  'QuotaExceeded.PrivateIpAddress': [400, 'The vSwitch "{id}" has no free private address.'],
  'InvalidVpcZone.NotSupported': [400, 'The vSwitch "{id}" is not in zone "{zone}".'],
  'InvalidSecurityGroup.VpcMismatch': [400, 'The security group "{id}" is not in the VPC of the vSwitch.'],
  'InvalidSecurityGroupId.SingleIdAndMultiIdConflict': [
    400,
    'Give either SecurityGroupId or SecurityGroupIds, not both.',
  ],
  'InvalidMinAmount.Malformed': [400, 'MinAmount is between 1 and Amount.'],
  'InvalidHostname.SingleAndMultiConflict': [403, 'Give either HostName or HostNames, not both.'],
  'InvalidHostname.SizeInvalid': [403, 'HostNames must have as many members as Amount.'],
  'InvalidHttpEndpoint.NotSupported': [400, 'HttpEndpoint is enabled or disabled.'],
  'InvalidHttpTokens.NotSupported': [400, 'HttpTokens is optional or required.'],
  'InvalidHttpPutResponseHopLimit.NotSupported': [400, 'HttpPutResponseHopLimit is between 1 and 64.'],
  'UnexpectedImageFamily.ImageIdSupplied': [400, 'Give either ImageId or ImageFamily, not both.'],
  'InvalidImageFamily.MissingAvailableImage': [403, 'No available image is of the family "{family}".'],
  'InvalidOperation.ResizeInUse': [403, 'The instance "{id}" uses more than the wished type has: {reason}'],
  'InvalidStatus.NotFound': [404, 'There is no status "{status}".'],
  'InvalidFilterKey.NotFound': [404, 'There is no filter "{key}".'],
  InvalidFilterValue: [404, 'The filter value "{value}" is not valid.'],

  // Tags.
  'InvalidTagKey.Malformed': [
    400,
    'The tag key "{key}" is not valid: 1 to 128 characters, not starting with aliyun or acs:, without http:// and https://.',
  ],
  'InvalidTagValue.Malformed': [
    400,
    'The value of tag "{key}" is not valid: at most 128 characters, not starting with acs:, without http:// and https://.',
  ],
  'Duplicate.TagKey': [400, 'The tag key "{key}" is given twice.'],
  'QuotaExceed.Tags': [403, 'The resource "{id}" would have more than {limit} tags.'],
  'NumberExceed.Tags': [400, 'A request names at most {limit} tags.'],
  'NumberExceed.ResourceIds': [400, 'A request names at most {limit} resources.'],
  'InvalidResourceType.NotFound': [404, 'There is no resource type "{type}" here.'],
  'BothEmpty.TagsAndResources': [403, 'The request must name resources or tags.'],
  'InvalidTagFilter.Malformed': [403, 'The tag filter is not valid: {reason}'],
  'InvalidTags.MalFormed': [400, 'Tag and TagFilter exclude each other.'],
  'Invalid.NextToken': [403, 'The token is not one that this action gave.'],
  'Invalid.TagCategory': [400, 'There is no tag category "{category}".'],
  'Param.Conflict': [403, 'All and TagKey exclude each other.'],

  // Key pairs.
  'InvalidKeyPairName.Malformed': [
    400,
    'The key pair name "{name}" is not valid: 2 to 128 letters, digits and :_.-, the first a letter.',
  ],
  'KeyPair.AlreadyExist': [400, 'There is a key pair "{name}" already.'],
  'QuotaExceed.KeyPair': [403, 'The quota of {quota} key pairs is used up.'],
  'InvalidPublicKeyBody.Malformed': [
    400,
    'The public key is not one line in the form of OpenSSH, of type RSA, DSA, ECDSA or Ed25519.',
  ],
  'InvalidKeyPairNames.ValueNotSupported': [400, 'KeyPairNames is a JSON list of at least one name.'],
  'InvalidParameter.KeypairAlreadyAttachedInstance': [
    400,
    'The key pair "{name}" is bound to the instance "{instanceId}".',
  ],
  'InvalidInstanceIds.ValueNotSupported': [400, 'InstanceIds is a JSON list of 1 to {limit} ids.'],
  // Cloud Assistant.
  'InvalidInstance.NotFound': [404, 'There is no instance "{id}".'],
  'MissingParam.InstanceId': [400, 'The request must name at least one instance.'],
  'InstanceIds.ExceedLimit': [403, 'At most {limit} instances in one request.'],
  'InvalidInstance.NotMatch': [400, 'Commands of type {type} run on Windows, the instances here on Linux.'],
  'InvalidCmdType.NotFound': [404, 'There is no command type "{type}".'],
  'InvalidCmdId.NotFound': [404, 'There is no command "{id}".'],
  'InvalidInvokeId.NotFound': [404, 'There is no invocation "{id}".'],
  'InvalidStatus.CmdIdInUse': [403, 'The command "{id}" is running.'],
  'CmdContent.DecodeError': [400, 'The content of the command is not Base64.'],
  'CmdContent.ExceedLimit': [403, 'The content of a command has at most {limit} KB after Base64.'],
  'CmdCount.ExceedQuota': [403, 'The quota of {quota} commands is used up.'],
  'CmdName.ExceedLimit': [403, 'The name of a command has at most {limit} characters.'],
  'CmdDesc.ExceedLimit': [403, 'The description of a command has at most {limit} characters.'],
  'CmdParam.EmptyKey': [400, 'The name of a parameter is empty.'],
  'CmdParam.InvalidParamName': [
    400,
    'There can be no parameter "{name}": letters, digits, - and _, or a built-in one.',
  ],
  'CmdParamCount.ExceedLimit': [403, 'A command has at most {limit} parameters.'],
  'CmdParamName.ExceedLimit': [403, 'The name of a parameter has at most {limit} characters.'],
  'Parameter.Disabled': [400, 'Parameters are given, but EnableParameter is not true.'],
  'Parameter.NotMatched': [400, 'The command has no parameter "{name}".'],
  'ParameterCount.ExceedLimit': [403, 'At most {limit} parameters are given in one request.'],
  'ParameterKey.ExceedLimit': [403, 'The name of a parameter has at most {limit} characters.'],
  'ParameterKey.Duplicate': [400, 'The parameter "{name}" is given twice; capitals make no difference.'],
  'ParameterType.NotSupported': [403, 'The value of parameter "{name}" is not a text.'],
  'InvalidParameter.WorkingDir': [400, 'A working directory has at most {limit} characters.'],
  'InvalidParameterCharacter.CommandName': [403, 'The name holds control characters.'],
  'InvalidParameterCharacter.CommandDescription': [403, 'The description holds control characters.'],
  'InvalidParameterCharacter.CommandWorkingDir': [403, 'The working directory holds control characters.'],
  'Username.ExceedLimit': [403, 'The name of a user has at most {limit} characters.'],
  'InvalidRepeatMode.NotFound': [404, 'There is no repeat mode "{mode}".'],
  'MissingParam.Frequency': [400, 'A command that is run at times needs a Frequency.'],
  'InvalidTerminationMode.NotFound': [404, 'There is no termination mode "{mode}".'],
  'InvalidResourceTag.ConflictWithInstanceIds': [400, 'InstanceId and ResourceTag exclude each other.'],
  'InvalidResourceTag.InstanceNotFound': [400, 'No instance has these tags.'],
  'MissingParameter.ResourceTagKey': [400, 'The key of a ResourceTag is missing.'],
  'Duplicate.ResourceTagKey': [400, 'The ResourceTag "{key}" is given twice.'],
  'NumberExceed.ResourceTags': [400, 'A request names at most {limit} of ResourceTag.'],
  'FileName.ExceedLimit': [403, 'The name of a file has at most {limit} characters.'],
  'FileDesc.ExceedLimit': [403, 'The description of a file has at most {limit} characters.'],
  'FileSize.ExceedLimit': [403, 'A file has at most {limit} KB after Base64.'],
  'FileContent.DecodeError': [400, 'The content of the file is not Base64.'],
  'FileContentType.Invalid': [400, 'There is no content type "{type}".'],
  'FileMode.Invalid': [400, 'A file mode is three or four octal digits.'],
  'FileTargetDir.Invalid': [400, 'A target directory is an absolute path of at most {limit} characters.'],
  'InvalidParameter.FileOwner': [400, 'The owner of a file is a name of at most {limit} characters.'],
  'InvalidParameter.FileGroup': [400, 'The group of a file is a name of at most {limit} characters.'],

  // Regions, zones and stock.
  'InvalidAcceptLanguage.NotFound': [404, 'There are no names in the language "{language}".'],
  'Invalid.InstanceChargeType': [403, 'There is no charge type "{value}".'],
  InvalidSpotStrategy: [400, 'There is no spot strategy "{value}".'],
  'Invalid.DestinationResource': [404, 'There is no resource kind "{value}" to ask for.'],
  'Invalid.IoOptimized': [404, 'IoOptimized is none or optimized, not "{value}".'],
  'Invalid.NetworkCategory': [404, 'There is no network category "{value}".'],
  'Invalid.ResourceType': [404, 'There is no resource type "{value}".'],
  'Invalid.SpotStrategy': [404, 'There is no spot strategy "{value}".'],
  'InvalidParam.TypeAndCpuMem.Conflict': [403, 'InstanceType excludes Cores and Memory.'],

  // Images.
  InvalidOSType: [404, 'There is no operating system type "{type}"; there are windows and linux.'],
  InvalidArchitecture: [404, 'There is no architecture "{architecture}".'],
  InvalidUsage: [404, 'There is no usage "{usage}".'],
  'InvalidImageOwnerAlias.ValueNotSupported': [400, 'There is no owner alias "{alias}".'],

  // Networks.
  'InvalidVpcIdNumber.NotSupported': [400, 'VpcId lists at most {limit} ids.'],
  'InvalidVSwitchIdNumber.NotSupported': [404, 'VSwitchId lists at most {limit} ids.'],
  'InvalidParameter.SecurityGroupType': [400, 'A security group is normal or enterprise, not "{type}".'],
  'InvalidNicType.ValueNotSupported': [400, 'NicType is intranet or internet, not "{type}".'],

  // VPCs, vSwitches and routes.
  'InvalidVpcId.NotFound': [404, 'There is no VPC "{id}".'],
  'InvalidVpc.NotFound': [400, 'There is no VPC "{id}".'],
  'Forbidden.VpcNotFound': [400, 'There is no VPC "{id}".'],
  'InvalidVpcName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidVpcDiscription.Malformed': [
    400,
    'A description has 1 to 256 characters and does not start with http:// or https://.',
  ],
  'InvalidUserCidr.Malformed': [400, 'UserCidr lists IPv4 ranges, separated by commas.'],
  'InvalidUserCidr.Quota': [400, 'UserCidr lists at most {limit} ranges.'],
  IllegalCidrBlock: [400, 'The VPC cannot have the range {cidr}: {reason}'],
  'InvalidCidrBlock.Malformed': [400, '{cidr} cannot be a range here: {reason}'],
  'InvalidCidrBlock.Overlapped': [400, 'The range {cidr} overlaps {other} of the vSwitch "{id}".'],
  'InvalidCirdrBlock.MaskLength': [400, 'The mask of a vSwitch has {min} to {max} bits.'],
  'IllegalParam.SecondaryCidrBlock': [400, '{cidr} cannot be a range of the VPC: {reason}'],
  'Duplicated.SecondaryCidrBlock': [400, 'The range {cidr} overlaps {other}, which the VPC has.'],
  'InvalidSecondaryCidrBlock.NotFound': [400, 'The VPC has no secondary range {cidr}.'],
  'OperationFailed.CidrInUse': [400, 'The vSwitch "{id}" is in the range {cidr}.'],
  'OperationFailed.ConflictWithEntry': [
    400,
    'The range {cidr} is the destination of the route entry "{id}".',
  ],
  'OperationUnsupported.Ipv6Feature': [400, 'This cloud has no IPv6.'],
  'UnsupportedFeature.Ipam': [400, 'This cloud has no IPAM pools.'],
  'OperationFailed.DefaultVpcExist': [400, 'The region has a default VPC, "{id}".'],
  'OperationFailed.DefaultVpcNotExist': [400, 'The region has no default VPC.'],
  'OperationFailed.DefaultVSwitchExist': [400, 'The zone has a default vSwitch, "{id}".'],
  'Forbidden.EnableClassicLink': [400, 'This cloud has no classic network that could be linked.'],
  'QuotaExceeded.Vpc': [400, 'The quota of {quota} VPCs is used up.'],
  'QuotaExceeded.VSwitch': [400, 'The quota of {quota} vSwitches in a VPC is used up.'],
  'QuotaExceeded.VpcMultiCidr': [400, 'The quota of {quota} secondary ranges is used up.'],
  'DependencyViolation.VSwitch': [400, 'The vSwitch "{id}" is in the VPC.'],
  'DependencyViolation.SecurityGroup': [400, 'The security group "{id}" is in the VPC.'],
  'DependencyViolation.NatGateway': [400, 'The NAT gateway "{id}" is in the VPC.'],
  'DependencyViolation.CustomRouteTable': [400, 'The route table "{id}" is in the VPC.'],
  'DependencyViolation.RouteEntry': [400, 'The route entry "{id}" is in the route table.'],
  'DependencyViolation.RouteTable': [400, 'The vSwitch uses the route table "{id}".'],
  'DependencyViolation.EnhancedNatgw': [400, 'The NAT gateway "{id}" is in the vSwitch.'],
  'DependencyViolation.SnatEntry': [400, 'The SNAT entry "{id}" uses it.'],
  DependencyViolation: [400, '"{id}" is still in use: {reason}'],
  'InvalidVSwitchName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidVSwitchDiscription.Malformed': [
    400,
    'A description has 1 to 256 characters and does not start with http:// or https://.',
  ],
  'RouteConflict.AlreadyExist': [400, 'The range {cidr} is the destination of the route entry "{id}".'],
  ResourceNotAvailable: [400, 'The VPC has no room for another vSwitch.'],
  'InvalidRouteTableId.NotFound': [404, 'There is no route table "{id}".'],
  'Abs.InvalidRouteTableId.NotExist': [400, 'There is no route table "{id}".'],
  'InvalidRouteTable.NotFound': [400, 'There is no route table "{id}".'],
  'Abs.InvaliTableName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidParameter.RouteTableName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidParameter.Description.Malformed': [
    400,
    'A description has 1 to 256 characters and does not start with http:// or https://.',
  ],
  'OperationUnsupported.AdvancedFeature': [400, 'This cloud has no route tables of gateways.'],
  'QuotaExceeded.RouteTable': [400, 'The quota of {quota} route tables in a VPC is used up.'],
  IncorrectRouteTableType: [400, 'The system route table goes with its VPC only.'],
  IncorrectRouteTableStatus: [404, 'The vSwitch "{id}" uses the route table.'],
  'IncorrectRouteTableStatus.RouteEntryExist': [400, 'The route table has the entry "{id}".'],
  'Forbidden.NotInSameVpc': [404, 'Route table and vSwitch are not in the same VPC.'],
  'Forbidden.VSwitchAlreadyAssociatedRouteTable': [404, 'The vSwitch uses the route table "{id}" already.'],
  'OperationDenied.SwitchToSystemRouteTable': [
    400,
    'A vSwitch comes back to the system route table by UnassociateRouteTable.',
  ],
  'OperationFailed.VSwitchNotAssociate': [404, 'The vSwitch does not use the route table.'],
  'OperationUnsupported.SystemRouteTable': [404, 'The system route table cannot be taken off a vSwitch.'],
  InvalidCidrBlock: [400, '{cidr} cannot be the destination of a route entry: {reason}'],
  'InvalidCIDRBlock.Duplicate': [400, 'The route table has an entry for {cidr}, "{id}".'],
  InvalidNextHopType: [400, 'The next hop type "{type}" is none that this cloud routes to.'],
  'InvalidNextHop.NotFound': [400, 'There is no next hop "{id}" in the VPC.'],
  'InvalidNextHopId.NotFound': [404, 'There is no {type} "{id}" in the VPC.'],
  'InvalidNexthopTypeAndList.BothNull': [400, 'The request must name a next hop.'],
  'InvalidNexthopTypeAndList.BothNotNull': [400, 'Give either NextHopId or NextHopList, not both.'],
  InvalidNexthopListSize: [400, 'An entry of this cloud has one next hop.'],
  'InvalidRouteEntryName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],
  QuotaExceeded: [400, 'The quota of {quota} entries in a table is used up.'],
  'InvalidRouteEntry.NotFound': [400, 'There is no such route entry.'],
  'InvalidRouteEntryId.NotFound': [404, 'There is no route entry "{id}".'],
  InvalidNextHop: [400, 'The next hop of the entry is another one.'],
  'OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch': [
    400,
    'The destination {cidr} lies in the vSwitch "{id}".',
  ],
  'IllegealParam.NextHopType': [400, 'The next hop type "{type}" is none that this cloud routes to.'],
  'MissingParam.NewNextHopId': [400, 'NewNextHopId is missing.'],
  'MissingParam.NewNextHopType': [400, 'NewNextHopType is missing.'],
  'MissingParam.RouteEntryId': [400, 'RouteEntryId is missing.'],
  'IllegalParam.RouteEntryType': [400, 'There is no type "{type}" of route entries.'],
  'InvalidVRouterId.NotFound': [404, 'There is no router "{id}".'],
  'InvalidVRouterName.Malformed': [
    400,
    'A name has 1 to 128 characters and does not start with http:// or https://.',
  ],

  // Elastic IPs and public addresses.
  'InvalidAllocationId.NotFound': [404, 'There is no EIP "{id}".'],
  'QuotaExceeded.Eip': [400, 'The quota of {quota} EIPs is used up.'],
  'InvalidBandwidth.Malformed': [400, 'The bandwidth of this EIP is 1 to {max} Mbit/s.'],
  'OperationFailed.ResourceNotEnough': [400, 'No public address is left.'],
  'OperationFailed.InsufficientEIP': [400, 'No public address is left.'],
  'ResourceNotFound.Ip': [400, 'The address {address} is in no pool.'],
  'Ip.Allocated': [400, 'The address {address} is in use.'],
  'IllegalParam.Isp': [400, 'There is no line "{isp}"; the line is BGP.'],
  'ResourceNotFound.PublicIpAddressPool': [400, 'There is no pool "{id}".'],
  'InvalidEipAddressName.Malformed': [
    400,
    'A name has 1 to 128 letters, digits, points, underscores and hyphens, the first a letter.',
  ],
  IncorrectEipStatus: [400, 'The EIP "{id}" is {status}; this needs {needed}.'],
  'InvalidInstanId.NotFound': [404, 'There is no {type} "{id}".'],
  'InvalidParameter.InstanceTypeNotSupport': [400, 'An EIP cannot be associated with a "{type}" here.'],
  'InvalidAssociation.Duplicated': [400, '"{id}" has an EIP already.'],
  EIP_CAN_NOT_ASSOCIATE_WITH_PUBLIC_IP: [400, 'The instance "{id}" has a public address of its own.'],
  'OperationFailed.PrivateIpAddressNotExist': [400, 'The network interface has no address {address}.'],
  'IllegalParam.Mode': [400, 'The mode is NAT; the network card of a guest does not see its EIP.'],
  'Eni.Attached': [400, 'The EIP of a primary network interface belongs to its instance, "{id}".'],
  'InvalidBindInstance.NotFound': [404, 'The EIP is not associated with "{id}".'],
  'InvalidIpStatus.HasBeenUsedBySnatTable': [400, 'The SNAT entry "{id}" uses the EIP.'],
  'InvalidIpStatus.HasBeenUsedByForwardEntry': [400, 'The DNAT entry "{id}" uses the EIP.'],
  'InvalidIAssociatedInstanceType.ValueNotSupported': [400, 'There is no instance type "{type}" here.'],
  'InvalidChargeType.ValueNotSupported': [400, 'There is no charge type "{value}".'],
  'InvalidLockReason.NotFound': [404, 'There is no lock reason "{value}".'],
  'DeletionProtection.TypeNotSupport': [400, 'Type is EIP or NATGW here, not "{type}".'],
  'DeletionProtection.ResourceNotExist': [400, 'There is no "{id}".'],
  'IllegalParam.ResourceType': [400, 'Resources of type "{type}" are in no resource group here.'],
  'InvalidAction.NotSupport': [400, 'This cloud keeps no fine-grained monitoring of EIPs.'],
  AllocatedAlready: [403, 'The instance "{id}" has a public address already.'],
  'InvalidIpAddress.Malformed': [400, '{address} is not an IPv4 address.'],
  'InvalidIpAddress.NotFound': [404, 'The address {address} cannot be given out here.'],
  IpInUse: [403, 'The address {address} is in use.'],
  InsufficientPublicIp: [400, 'No public address is left.'],
  'InvalidInternetMaxBandwidthOut.ValueNotSupported': [400, 'InternetMaxBandwidthOut is 0 to {max}.'],
  'InvalidInternetMaxBandwidthIn.ValueNotSupported': [400, 'InternetMaxBandwidthIn is 1 to {max}.'],
  'InvalidOperation.PublicIpAddressNoStock': [403, 'No public address is left.'],
  'InvalidParameter.Bandwidth': [400, 'InternetMaxBandwidthOut is 0 to {max}.'],

  // NAT gateways.
  'InvalidNatGatewayId.NotFound': [404, 'There is no NAT gateway "{id}".'],
  'InvalidVSWITCHID.NotFound': [400, 'There is no vSwitch "{id}".'],
  'OperationFailed.VswNotBelongToVpc': [400, 'The vSwitch "{id}" is not in the VPC.'],
  'OperationUnsupported.MultiNatGateway': [400, 'The quota of {quota} NAT gateways in a VPC is used up.'],
  'UnsupportedFeature.VpcNat': [400, 'This cloud has NAT gateways to the internet only.'],
  'InvalidParameter.Name.Malformed': [
    400,
    'A name has 2 to 128 characters, the first a letter, and does not start with http:// or https://.',
  ],
  'DependencyViolation.EIPS': [400, 'The EIP "{id}" is associated with the NAT gateway.'],
  'DependencyViolation.ForwardEntry': [400, 'The NAT gateway has the DNAT entry "{id}".'],
  'DependencyViolation.RouterEntry': [400, 'The route entry "{id}" leads to the NAT gateway.'],
  'InvalidSnatTableId.NotFound': [404, 'There is no SNAT table "{id}".'],
  'InvalidSnatEntryId.NotFound': [404, 'There is no SNAT entry "{id}".'],
  EIP_NOT_IN_GATEWAY: [400, 'The address {address} is no EIP of the NAT gateway.'],
  'InvalidSnatIp.Malformed': [400, 'SnatIp lists EIPs of the NAT gateway, separated by commas.'],
  'InvalidSourceCIDR.Malformed': [400, '{cidr} is not an IPv4 range.'],
  'CreateSnatEntry.ParamExclusive.sourceVSwitchIdAndsourceCIDR': [
    400,
    'Give one of SourceVSwitchId and SourceCIDR.',
  ],
  'Forbidden.SourceVSwitchId.Duplicated': [400, 'The SNAT entry "{id}" has the source {cidr}.'],
  'Forbidden.IpHasBeenUsedInDnat': [400, 'The DNAT entry "{id}" takes the whole address {address}.'],
  'Forbidden.IpUsedInForwardTable': [400, 'The DNAT entry "{id}" takes the whole address {address}.'],
  'OperationFailed.VSwitchNotInVpc': [400, 'The vSwitch "{id}" is not in the VPC of the NAT gateway.'],
  'QuotaExceeded.SnatEntry': [400, 'The quota of {quota} SNAT entries is used up.'],
  'InvalidForwardTableId.NotFound': [404, 'There is no DNAT table "{id}".'],
  'InvalidForwardEntryId.NotFound': [404, 'There is no DNAT entry "{id}".'],
  'InvalidIp.NotInNatgw': [400, 'The address {address} is no EIP of the NAT gateway.'],
  'InvalidExternalIp.Malformed': [400, '{address} is not an IPv4 address.'],
  'InvalidExternalPort.Malformed': [400, 'ExternalPort is a port, two with a slash between, or any.'],
  'InvalidInternalIp.Malformed': [400, '{address} is not an IPv4 address.'],
  'InvalidInternalPort.Malformed': [400, 'InternalPort is as many ports as ExternalPort, or any.'],
  'InvalidProtocal.ValueNotSupported': [400, 'IpProtocol is tcp, udp or any.'],
  'Forbidden.DestnationIpOutOfVpcCIDR': [400, 'The address {address} is not in the VPC.'],
  'Forbidden.ExternalIp.UsedInSnatTable': [400, 'The SNAT entry "{id}" uses the address {address}.'],
  'ForwardEntry.Duplicated': [400, 'The DNAT entry "{id}" takes these ports of {address}.'],
  'AnyPort.PortMustBeZero': [400, 'With the protocol any, both ports are any.'],
  'IllegalParam.AnyPortNotZero': [400, 'With the protocol any, both ports are any.'],
  'QuotaExceeded.ForwardEntry': [400, 'The quota of {quota} DNAT entries is used up.'],

  // Prefix lists.
  'InvalidPrefixListId.NotFound': [404, 'There is no prefix list "{id}".'],
  'InvalidParameter.PrefixListName': [
    400,
    'A name has 2 to 128 letters, digits and :_.-, the first a letter, and does not start with com.aliyun or com.alibabacloud.',
  ],
  'InvalidParameter.AddressFamily': [400, 'AddressFamily is IPv4 or IPv6.'],
  'InvalidParameter.CidrMalformed': [
    400,
    '{cidr} is not a range of this family without bits below the mask.',
  ],
  'InvalidParameter.CidrDuplicated': [400, 'The range {cidr} is given twice.'],
  'LimitExceed.MaxEntries': [400, 'The prefix list holds at most {limit} entries.'],
  'LimitExceed.PrefixListPerRegion': [404, 'The quota of {quota} prefix lists is used up.'],
  'LimitExceed.PrefixListId': [400, 'At most {limit} prefix lists in one request.'],
  'NotAllowed.AssociationExist': [400, 'Rules of the security group "{id}" name the prefix list.'],

  // Tags of the VPC product.
  InvalidTagKey: [
    400,
    'A tag key has 1 to 128 characters, does not start with aliyun or acs: and holds no URL.',
  ],
  InvalidTagValue: [
    400,
    'A tag value has at most 128 characters, does not start with acs: and holds no URL.',
  ],
  'Forbidden.TagKey.Duplicated': [400, 'A tag key is given twice.'],
  'QuotaExceeded.TagNum': [400, 'A resource has at most 20 tags.'],
  'SizeLimitExceeded.TagNum': [400, 'A request names at most {limit} tags.'],
  'SizeLimitExceeded.ResourceId': [400, 'A request names at most {limit} resources.'],
  'InvalidInstanceIds.NotFound': [400, 'There is no resource "{id}".'],
  MissingParam: [400, '{parameter} is missing.'],

  // Security groups.
  'InvalidSecurityGroupName.Malformed': [
    400,
    'A security group name has 2 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidSecurityGroupDiscription.Malformed': [
    400,
    'A description has up to 512 characters and does not start with http:// or https://.',
  ],
  'InvalidParams.GroupType': [
    400,
    'There is no type "{type}" of security groups: it is normal or enterprise.',
  ],
  'QuotaExceed.SecurityGroup': [403, 'The quota of {quota} security groups is used up.'],
  'InvalidPolicy.Malformed': [400, 'A policy is {words}.'],
  'InvalidIpProtocol.ValueNotSupported': [
    400,
    'There is no protocol "{protocol}": it is tcp, udp, icmp, icmpv6, gre or all.',
  ],
  'InvalidPortRange.Malformed': [400, 'The port range "{range}" is not valid: {reason}'],
  'InvalidSourcePortRange.Malformed': [400, 'The source port range "{range}" is not valid: {reason}'],
  'InvalidPriority.Malformed': [400, 'A priority is a whole number.'],
  'InvalidPriority.ValueNotSupported': [400, 'A priority is between 1 and 100.'],
  'InvalidSourceCidrIp.Malformed': [400, '"{cidr}" is not a CIDR.'],
  'InvalidDestCidrIp.Malformed': [400, '"{cidr}" is not a CIDR.'],
  'MissingParameter.Source': [
    400,
    'An ingress rule names its source: a CIDR, a security group or a prefix list.',
  ],
  'MissingParameter.Dest': [
    400,
    'An egress rule names its destination: a CIDR, a security group or a prefix list.',
  ],
  'InvalidSourceGroupId.NotFound': [404, 'There is no security group "{id}".'],
  'InvalidDestGroupId.NotFound': [404, 'There is no security group "{id}".'],
  'InvalidGroupAuthParameter.OperationDenied': [
    400,
    'Rules of an enterprise security group do not name other groups.',
  ],
  AuthorizationLimitExceed: [403, 'A security group has at most {limit} rules.'],
  'InvalidParam.Permissions': [400, 'Give either Permissions or a single rule, with 1 to {limit} rules.'],
  'InvalidParam.SecurityGroupRuleId': [400, 'Give either the ids of rules or a description of one.'],
  'InvalidSecurityGroupRuleId.NotFound': [404, 'The security group has no rule "{id}".'],
  'InvalidParam.InvalidModifyRuleRequest': [400, 'The request changes nothing of the rule.'],
  'SecurityGroupRule.NotFound': [404, 'The security group has no such rule.'],
  'InvalidParam.EniIdAndInstanceId.Conflict': [403, 'Give either InstanceId or NetworkInterfaceId.'],
  'InvalidEniId.NotFound': [404, 'There is no network interface "{id}".'],
  'InvalidInstanceId.AlreadyExists': [403, '"{id}" is in the security group already.'],
  'InvalidOperation.VpcMismatch': [403, '"{id}" is in another VPC.'],
  'InvalidOperation.MultiGroupType': [400, 'Basic and enterprise security groups do not go together.'],
  InstanceSecurityGroupLimitExceeded: [400, 'A network interface is in at most {limit} security groups.'],
  SecurityGroupInstanceLimitExceeded: [403, 'The security group has no room for further members.'],
  InstanceNotInSecurityGroup: [403, '"{id}" is not in the security group.'],
  InstanceLastSecurityGroup: [403, '"{id}" would be in no security group any more.'],
  'InvalidSecurityGroupAssociation.NotFound': [400, '"{id}" is not in the security group.'],
  'InvalidOperation.AtLeastInOneGroup': [403, '"{id}" would be in no security group any more.'],

  // Network interfaces.
  'InvalidEcsId.NotFound': [404, 'There is no instance "{id}".'],
  'InvalidOperation.InvalidEniState': [400, 'The network interface "{id}" is {status}; this needs {needed}.'],
  'InvalidOperation.InvalidEcsState': [400, 'The instance "{id}" is {status}; this needs {needed}.'],
  'InvalidOperation.InvalidEniType': [403, '"{id}" is the primary network interface of an instance.'],
  'InvalidOperation.DetachPrimaryEniNotAllowed': [
    400,
    '"{id}" is the primary network interface of its instance, and stays with it.',
  ],
  'InvalidOperation.PrimaryEniOnlySupportModifyNameAndDesc': [
    404,
    '"{id}" is a primary network interface; only its name and description can be changed here.',
  ],
  'InvalidOperation.AvailabilityZoneMismatch': [403, '"{id}" is in the zone {zone}, unlike the instance.'],
  'InvalidOperation.Ipv4CountExceeded': [
    403,
    'A network interface of the instance type "{type}" has at most {limit} private addresses.',
  ],
  'InvalidOperation.TrunkingIsNotAllowed': [403, 'This cloud has no trunk network interfaces.'],
  'InvalidOperation.HighPerformanceTrafficModeIsNotAllowed': [403, 'This cloud has no RDMA interfaces.'],
  'InvalidParameter.NetworkCardIndexInvalid': [400, 'The instance has a single network card, number 0.'],
  'InvalidParameter.EniNotBelongEcs': [
    400,
    'The network interface "{id}" is not attached to the instance "{instance}".',
  ],
  'InvalidParams.NetworkInterfaceName': [
    403,
    'A name has 2 to 128 characters and does not start with http:// or https://.',
  ],
  EniPerInstanceLimitExceeded: [
    403,
    'An instance of the type "{type}" has at most {limit} network interfaces.',
  ],
  MaxEniCountExceeded: [403, 'The quota of {quota} network interfaces is used up.'],
  MaxEniPrivateIpsCountExceeded: [
    403,
    'A network interface that is attached to nothing has at most {limit} secondary addresses.',
  ],
  JoinedGroupLimitExceed: [400, 'A network interface is in at most {limit} security groups.'],
  'EnterpriseGroupLimited.MutliGroupType': [403, 'Basic and enterprise security groups do not go together.'],
  'InvalidParameter.SecurityGroupIdRepeated': [400, 'The security group "{id}" is named twice.'],
  'InvalidVSwitchId.IpInvalid': [403, 'The vSwitch "{id}" does not give out the address {address}.'],
  'InvalidVSwitchId.IpNotEnough': [403, 'The vSwitch "{id}" has not enough free private addresses.'],
  'InvalidPrivateIpAddress.Duplicated': [400, 'The private address {address} is in use.'],
  'InvalidIp.IpRepeated': [403, 'The private address {address} is named twice.'],
  'InvalidIp.IpUnassigned': [403, '{address} is not a secondary address of the network interface.'],
  'InvalidVSwitch.Ipv6NotTurnOn': [403, 'This cloud has no IPv6.'],

  // Moving an instance to another address, vSwitch or VPC.
  'InvalidPrivateIpAddress.Malformed': [400, '"{address}" is not an IPv4 address.'],
  'InvalidPrivateIpAddress.Mismatch': [400, 'The vSwitch "{id}" does not give out the address {address}.'],
  'InvalidParameter.NotEnoughIpInVSwitch': [404, 'The vSwitch "{id}" has no free private address.'],
  'InvalidVSwitch.NotBelongToVpc': [404, 'The vSwitch "{id}" is not in the VPC "{vpc}".'],
  'InvalidOperation.VswAndEcsAvailabilityZoneMismatch': [
    403,
    'The vSwitch "{id}" is in the zone {zone}, unlike the instance.',
  ],
  PrimaryEniHasSubIp: [400, 'The primary network interface has secondary private addresses.'],
  'InvalidIp.MultiPrimaryIp': [404, 'The primary network interface has secondary private addresses.'],
  'InvalidInstance.AttachedEni': [404, 'The instance has secondary network interfaces.'],
  'InvalidDependence.NextHopOfCustomRouter': [404, 'The route entry "{id}" leads to the instance.'],
  'InvalidParameter.AlreadyInTargetVpc': [404, 'The instance is in the VPC already.'],
  'InvalidParameter.MustBeEmpty': [404, 'Security groups are named only together with another VPC.'],
  'InvalidParameter.SecurityGroupId': [404, 'Another VPC needs other security groups: {reason}'],

  // Network interfaces of a launch.
  'InvalidOperation.InvalidNetworkInterfaceId': [
    403,
    'The network interface "{id}" cannot be attached to a new instance: {reason}',
  ],
  'InvalidParameter.NetworkInterface': [
    403,
    'The network interfaces of the instance are not valid: {reason}',
  ],
  'InvalidParameter.EniNumExceededWithLaunchEcs': [
    403,
    'An instance of the type "{type}" has at most {limit} network interfaces.',
  ],

  // Disks.
  'InvalidDiskId.NotFound': [404, 'There is no disk "{id}".'],
  IncorrectDiskStatus: [403, 'The disk "{id}" is {status}; this needs {needed}.'],
  'IncorrectDiskStatus.NeverAttached': [403, 'The disk "{id}" was never attached: it holds nothing yet.'],
  'IncorrectDiskStatus.CreatingSnapshot': [403, 'A snapshot of the disk "{id}" is being taken.'],
  'IncorrectDiskStatus.HasUnfinishedSnapshot': [403, 'A snapshot of the disk "{id}" is being taken.'],
  DiskCreatingSnapshot: [403, 'A snapshot of the disk "{id}" is being taken.'],
  DiskTypeViolation: [403, 'The disk "{id}" is a system disk, which goes with its instance only.'],
  'DiskId.ValueNotSupported': [403, 'The disk "{id}" cannot be attached to this instance: {reason}'],
  'InvalidDataDiskCategory.ValueNotSupported': [400, 'There is no category "{category}" of data disks.'],
  'InvalidDataDiskSize.ValueNotSupported': [400, 'A data disk of this kind has {min} to {max} GiB.'],
  'InvalidDevice.InUse': [403, 'The instance has a disk as {device} already.'],
  'InvalidDevice.Malformed': [400, 'The device name "{device}" is not one of /dev/xvdb to /dev/xvdz.'],
  'InvalidDisk.InUse': [404, 'The disk "{id}" is attached to an instance.'],
  'InvalidDiskCategory.ValueNotSupported': [400, 'There is no disk category "{category}".'],
  'InvalidDiskChargeType.NotFound': [404, 'There is no charge type "{type}".'],
  'InvalidDiskDescription.Malformed': [
    400,
    'A description has 2 to 256 characters and does not start with http:// or https://.',
  ],
  'InvalidDiskName.Malformed': [
    400,
    'A disk name has 2 to 128 characters and does not start with http:// or https://.',
  ],
  'InvalidDiskSize.TooSmall': [403, 'The disk "{id}" has {sizeGiB} GiB already; it can only grow.'],
  'InvalidDiskType.ValueNotSupported': [400, 'There is no disk type "{type}".'],
  'InvalidCategory.ValueNotSupported': [400, 'There is no disk category "{category}".'],
  'InvalidInstance.ZoneConflict': [403, 'The disk "{id}" is in zone {zone}, the instance in another.'],
  'InvalidInstanceStatus.NotRunning': [
    403,
    'The disk "{id}" grows online only while it is in an instance that runs.',
  ],
  'InvalidParam.Type': [400, 'Type is offline or online, not "{type}".'],
  'InvalidParameter.EncryptedNotSupported': [400, 'This cloud does not encrypt disks yet.'],
  'InvalidParameter.MultiAttach': [403, 'This cloud attaches a disk to one instance at a time.'],
  'InvalidParameter.Mismatch': [403, 'The parameters do not belong together: {reason}'],
  'InvalidPerformanceLevel.Malformed': [400, 'The disk category has no such performance level.'],
  'InvalidStatus.ValueNotSupported': [400, 'There is no disk status "{status}".'],
  InstanceDiskLimitExceeded: [403, 'An instance has at most {limit} disks.'],
  'InstanceDiskNumber.LimitExceed': [400, 'An instance has at most {limit} data disks.'],
  'MissingParameter.DiskIdOrDiskIds': [400, 'DiskId or DiskIds must be given.'],
  'ParameterConflict.DiskIdAndDiskIds': [400, 'DiskId and DiskIds exclude each other.'],
  NoAttributeToModify: [400, 'The request names nothing that shall change.'],
  NoChangeInDiskCategoryAndPerformanceLevel: [403, 'The disk has this category and level already.'],
  OperationDenied: [403, 'This cannot be done now: {reason}'],
  'OperationDenied.NotEnoughCapacity': [400, 'The host of the disk has no room for that: {reason}'],
  'OperationDenied.PerformanceLevelNotMatch': [
    403,
    'The disk "{id}" would need {min} to {max} GiB for that category and level.',
  ],
  'QuotaExceed.PostPaidDisk': [403, 'The quota of {quota} data disks is used up.'],

  // Custom images.
  ImageIsPublic: [403, 'The image "{id}" belongs to the cloud.'],
  ImageUsingByInstance: [403, 'The instance "{instance}" was made from the image "{id}": use Force.'],
  'InvalidImageFamily.Malformed': [
    400,
    'An image family has 2 to 128 characters and starts neither with aliyun, acs: nor with http:// or https://.',
  ],
  'InvalidImageName.Duplicated': [400, 'There is an image "{name}" already.'],
  'InvalidImageName.Malformed': [
    400,
    'An image name has 2 to 128 characters and does not start with http:// or https://.',
  ],
  'QuotaExceed.Image': [403, 'The quota of {quota} images is used up.'],

  // Snapshots.
  'InvalidSnapshotId.NotFound': [404, 'There is no snapshot "{id}".'],
  'InvalidDataDiskSnapshotId.NotFound': [404, 'There is no snapshot "{id}".'],
  'InvalidSnapshotId.NotReady': [403, 'The snapshot "{id}" is {status}; it must be accomplished.'],
  InvalidSourceSnapshot: [403, 'The snapshot "{id}" that the disk was made from is gone.'],
  'InvalidRetentionDays.Malformed': [400, 'Snapshots are kept for 1 to {max} days.'],
  'InvalidOperation.DecreaseRetentionDaysUnsupported': [
    400,
    'The snapshot is kept for {days} days, which can only become more.',
  ],
  'InvalidSnapshotCategory.Malformed': [403, 'There is no snapshot category "{category}".'],
  'InvalidSnapshotName.Malformed': [
    400,
    'A snapshot name has 2 to 128 characters and starts neither with auto nor with http:// or https://.',
  ],
  'InvalidSnapshotType.NotFound': [404, 'There is no snapshot type "{type}".'],
  InvalidSourceDiskType: [404, 'SourceDiskType is system or data, not "{type}".'],
  'Operation.Conflict': [403, 'Another operation is under way: {reason}'],
  'QuotaExceed.Snapshot': [403, 'The quota of {quota} snapshots of a disk is used up.'],
  SnapshotCreatedDisk: [
    403,
    'The disk "{disk}" was made from the snapshot "{id}", and cannot be initialized anew without it: use Force.',
  ],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ErrorCode = keyof typeof errorCatalogue;

/** Names in braces of a message template. */
type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** What must be told when the error is raised. */
export type ErrorValues<Code extends ErrorCode> = Record<
  Placeholders<(typeof errorCatalogue)[Code][1]>,
  string | number
>;

type FailArguments<Code extends ErrorCode> = [Placeholders<(typeof errorCatalogue)[Code][1]>] extends [never]
  ? []
  : [values: ErrorValues<Code>];

/**
 * Ends a request with one of the codes that its action declares. A rule that can end a request takes the
 * `Fail` of its own codes; the compiler then lets only actions call it that declare them.
 */
export type Fail<Declared extends ErrorCode> = <Code extends Declared>(
  code: Code,
  ...values: FailArguments<Code>
) => never;

/** An error that the client is told as it is. Everything else becomes InternalError. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    message: string,
    status?: number,
  ) {
    super(message);
    this.status = status ?? errorCatalogue[code][0];
  }
}

/** Raises an error of the catalogue with its placeholders filled in. */
export const fail: Fail<ErrorCode> = (code, ...values) => {
  const filled: Readonly<Record<string, string | number>> = values[0] ?? {};
  throw new ApiError(
    code,
    errorCatalogue[code][1].replace(/\{(\w+)\}/g, (whole, name: string) => String(filled[name] ?? whole)),
  );
};
