/*
 * NVML: how cards hang together. The knob `nvlinks` of a card is how many
 * links it has to its partner: cards 0 and 1, 2 and 3, and so on. All cards
 * hang on one host bridge, or apart where their `numa_node` differs.
 */
#include "nvml_lib.h"

static int partner_of(int card)
{
    int partner = card ^ 1;

    return partner < vf_count() ? partner : -1;
}

static unsigned links_of(int card)
{
    int partner = partner_of(card);
    uint64_t mine = vf_knob(vf_card(card), nvlinks), theirs;

    if (partner < 0)
        return 0;
    theirs = vf_knob(vf_card(partner), nvlinks);
    if (theirs < mine)
        mine = theirs;
    return mine < NVML_NVLINK_MAX_LINKS ? (unsigned)mine
                                        : NVML_NVLINK_MAX_LINKS;
}

static nvmlReturn_t begin(const char *call, nvmlDevice_t device,
                          unsigned int link, const void *out)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(call, device, out, &card);

    if (code)
        return code;
    if (link >= NVML_NVLINK_MAX_LINKS)
        return NVML_ERROR_INVALID_ARGUMENT;
    return vf_knob(card, unsupported_nvlink) ? NVML_ERROR_NOT_SUPPORTED
                                             : NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device,
                                                unsigned int link,
                                                unsigned int *active)
{
    nvmlReturn_t code = begin(__func__, device, link, active);

    if (code)
        return code;
    if (!links_of(device->card)) /* a card without the bridge */
        return NVML_ERROR_NOT_SUPPORTED;
    *active = link < links_of(device->card);
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device,
                                                  unsigned int link,
                                                  unsigned int *version)
{
    nvmlReturn_t code = begin(__func__, device, link, version);

    if (code)
        return code;
    if (link >= links_of(device->card))
        return NVML_ERROR_NOT_SUPPORTED;
    *version = 4;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device,
                                               nvmlPciInfo_t *pci);

VF_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(
    nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    nvmlReturn_t code = begin(__func__, device, link, pci);

    if (code)
        return code;
    if (link >= links_of(device->card))
        return NVML_ERROR_NOT_SUPPORTED;
    return nvmlDeviceGetPciInfo_v3(
        nv_device(partner_of(device->card), -1, -1), pci);
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(
    nvmlDevice_t device, unsigned int link, unsigned int *type)
{
    nvmlReturn_t code = begin(__func__, device, link, type);

    if (code)
        return code;
    if (link >= links_of(device->card))
        return NVML_ERROR_NOT_SUPPORTED;
    *type = 0; /* a card */
    return NVML_SUCCESS;
}

/* ---- PCI Express ------------------------------------------------------- */

static bool linked(int first, int second)
{
    return partner_of(first) == second && links_of(first) > 0;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(
    nvmlDevice_t device, nvmlDevice_t other, unsigned int *level)
{
    struct vf_card *one, *two;
    nvmlReturn_t code = nv_whole(__func__, device, level, &one);

    if (!code)
        code = nv_whole(__func__, other, level, &two);
    if (code)
        return code;
    if (one == two)
        *level = NVML_TOPOLOGY_INTERNAL;
    else
        *level = vf_knob(one, numa_node) == vf_knob(two, numa_node)
                     ? NVML_TOPOLOGY_HOSTBRIDGE
                     : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device,
                                              nvmlDevice_t other,
                                              unsigned int index,
                                              unsigned int *status)
{
    struct vf_card *one, *two;
    nvmlReturn_t code = nv_whole(__func__, device, status, &one);

    if (!code)
        code = nv_whole(__func__, other, status, &two);
    if (code)
        return code;
    if (one == two || index > NVML_P2P_CAPS_INDEX_PCI)
        return NVML_ERROR_INVALID_ARGUMENT;
    *status = NVML_P2P_STATUS_OK;
    if (index == NVML_P2P_CAPS_INDEX_NVLINK &&
        !linked(device->card, other->card))
        *status = NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

VF_EXPORT nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device,
                                             nvmlDevice_t other, int *same)
{
    struct vf_card *one, *two;
    nvmlReturn_t code = nv_whole(__func__, device, same, &one);

    if (!code)
        code = nv_whole(__func__, other, same, &two);
    if (!code)
        *same = one == two;
    return code;
}

VF_EXPORT nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device,
                                               unsigned int *node)
{
    struct vf_card *card;
    nvmlReturn_t code = nv_whole(__func__, device, node, &card);

    if (!code)
        *node = (unsigned)vf_knob(card, numa_node);
    return code;
}
