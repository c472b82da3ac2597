{{ config_get("user.egs.seed", "") }}
