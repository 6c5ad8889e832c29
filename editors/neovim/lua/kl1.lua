-- Starts `fifth lsp` for buffers with KL1, one server for a folder.
local M = { command = { 'fifth', 'lsp' } }

-- The folder of a program: the nearest one with version control, else that of the file.
local function root(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local git = vim.fn.finddir('.git', folder .. ';')
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:h') or folder
end

local clients = {}

function M.attach()
  if vim.fn.executable(M.command[1]) == 0 then
    return
  end
  local folder = root(vim.api.nvim_buf_get_name(0))
  local config = { name = 'fifth', cmd = M.command, root_dir = folder, filetypes = { 'kl1' } }
  if vim.lsp.start then
    vim.lsp.start(config)
    return
  end
  -- Before Neovim 0.8.
  if not clients[folder] then
    config.on_exit = function() clients[folder] = nil end
    clients[folder] = vim.lsp.start_client(config)
  end
  if clients[folder] then
    vim.lsp.buf_attach_client(0, clients[folder])
  end
end

return M
